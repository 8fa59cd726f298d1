"""Predicts the classes of images, from weights or from a SavedModel.

elu-zoo-predict --saved_model=exports/mnist_mlp_8x128 --data=mnist_5k --count=5
elu-zoo-predict --model=mnist_mlp_8x128 --weights=mnist digit.png more_digits/
"""

import json

from absl import app
from absl import flags as absl_flags

from elu_zoo.bin import flags

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
    paths = argv[1:]
    values = absl_flags.FLAGS
    if bool(paths) == bool(_DATA.value):
        raise app.UsageError("Name IMAGE files or folders, or --data, and not both.")
    if bool(_SAVED_MODEL.value) == bool(values.model):
        raise app.UsageError("Give either --saved_model or --model with --weights.")
    if values.model and not values.weights:
        raise app.UsageError("--model needs --weights.")

    predict, shape, classes = _predictor(values)
    images, names, true = _images(paths, shape, values.data_dir)
    rows = []
    for name, label, row in zip(names, true, predict(images), strict=True):
        best = sorted(zip(row.tolist(), classes, strict=True), reverse=True)
        found = {"image": name, "class": best[0][1]}
        if label is not None:
            found["true_class"] = label
        found["probabilities"] = {c: round(p, 6) for p, c in best[: _TOP.value]}
        rows.append(found)
    if _JSON.value:
        print("\n".join(json.dumps(row) for row in rows))
    else:
        _print_table(rows)


def _predictor(values):
    """Returns images -> probabilities, the images' shape, and the class names."""
    if _SAVED_MODEL.value:
        from elu_zoo.export.loaded import load_saved_model

        loaded = load_saved_model(_SAVED_MODEL.value)
        predict = lambda images: loaded.predict(images)["probabilities"]  # noqa: E731
        return predict, loaded.image_shape, loaded.class_names

    import numpy as np

    from elu_zoo import zoo

    model = zoo.get_model(
        values.model,
        weights=values.weights,
        activation=values.activation,
        allow_unverified=values.allow_unverified,
        classifier_activation="softmax",
    )
    classes = zoo.class_names(values.model, values.weights)
    predict = lambda images: np.asarray(model(images))  # noqa: E731
    return predict, model.input_shape[1:], classes


def _images(paths: list[str], shape, data_dir: str | None):
    """Returns the images with their names and, where known, their true classes."""
    if paths:
        from elu_zoo.data.images import read_images

        images, files = read_images(paths, shape)
        return images, [str(file) for file in files], [None] * len(files)

    from elu_zoo.data import sources

    data = sources.load(_DATA.value, data_dir)
    test = data.test.first(min(_COUNT.value, len(data.test)))
    names = [f"{data.name} test {i}" for i in range(len(test))]
    return test.images, names, [data.class_names[label] for label in test.labels]


def _print_table(rows: list[dict]) -> None:
    from rich.console import Console
    from rich.table import Table

    known = "true_class" in rows[0]
    table = Table("image", "class", *["true"] * known, "probabilities")
    for row in rows:
        best = "  ".join(f"{c} {p:.1%}" for c, p in row["probabilities"].items())
        true = [row["true_class"]] * known
        table.add_row(row["image"], row["class"], *true, best)
    Console().print(table)


def run() -> None:
    flags.run(main)


if __name__ == "__main__":
    run()
