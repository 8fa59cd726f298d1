"""Predicts the classes of images, from weights or from a SavedModel.

elu-zoo-predict --saved_model=exports/mnist_mlp_8x128 --data=mnist_5k --count=5
elu-zoo-predict --model=mnist_mlp_8x128 --weights=mnist digit.png more_digits/
"""

import json

from absl import flags as absl_flags

from elu_zoo import errors
from elu_zoo.bin import flags, table

_SAVED_MODEL = absl_flags.DEFINE_string(
    "saved_model", None, "Folder of an exported model, instead of --model --weights."
)
_DATA = absl_flags.DEFINE_string(
    "data", None, "Predict test images of this data set instead of IMAGE files."
)
_COUNT = absl_flags.DEFINE_integer(
    "count", 10, "How many images of --data.", lower_bound=1
)
_TOP = absl_flags.DEFINE_integer("top", 3, "Classes shown an image.", lower_bound=1)
_JSON = absl_flags.DEFINE_bool("json", False, "Print one JSON object an image.")
flags.define("model", "weights", "activation", "allow_unverified", "data_dir")


def main(argv: list[str]) -> None:
    paths, values = argv[1:], absl_flags.FLAGS
    if bool(paths) == bool(_DATA.value):
        raise errors.UsageError("Name IMAGE files or folders, or --data; not both.")
    if paths and _COUNT.present:
        raise errors.UsageError("--count is of --data, not of IMAGE files.")
    of_weights = [values.model, values.weights, values.activation]
    if any(of_weights) if _SAVED_MODEL.value else not all(of_weights[:2]):
        raise errors.UsageError("Give --saved_model alone, or --model and --weights.")

    from elu_zoo.export import predictor

    if _SAVED_MODEL.value:
        model = predictor.from_saved_model(_SAVED_MODEL.value)
    else:
        model = predictor.from_weights(values.model, **flags.weights_arguments())
    if paths:
        from elu_zoo.data.images import read_images

        images, names = read_images(paths, model.image_shape)
        rows = [{"image": str(name)} for name in names]
    else:
        from elu_zoo.data import sources

        data = sources.load(_DATA.value, values.data_dir)
        test = data.test.first(min(_COUNT.value, len(data.test)))
        images, names = test.images, [data.class_names[i] for i in test.labels]
        rows = [
            {"image": f"{data.name} test {index}", "true": name}
            for index, name in enumerate(names)
        ]
    found = predictor.ranked(model, images, _TOP.value)
    for row, best in zip(rows, found, strict=True):
        row.update({"class": next(iter(best)), "probabilities": best})
    if _JSON.value:
        print("\n".join(json.dumps(row) for row in rows))
    else:
        for row in rows:
            best = (f"{name} {p:.1%}" for name, p in row["probabilities"].items())
            row["probabilities"] = "  ".join(best)
        table.show(rows)


def run() -> None:
    flags.run(main)


if __name__ == "__main__":
    run()
