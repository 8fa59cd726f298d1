"""Measures loss and error of weights on a split of a data set.

elu-zoo-evaluate --model=mnist_mlp_8x128 --weights=mnist --data=mnist
elu-zoo-evaluate --model=elu_imagenet_15 --weights=<run> --data=imagenet2012
"""

import json
import sys

from absl import flags as absl_flags

from elu_zoo.bin import early, flags

_SPLIT = absl_flags.DEFINE_enum(
    "split", "test", ["train", "validation", "test"], "The split to measure."
)
_JSON = absl_flags.DEFINE_bool("json", False, "Print one JSON object.")
flags.define_model()
flags.define("data", "data_dir")
absl_flags.mark_flags_as_required(["model", "weights", "data"])


def main(_: list[str]) -> None:
    values = absl_flags.FLAGS

    from elu_zoo import predictions, zoo
    from elu_zoo.training.evaluate import Evaluator
    from elu_zoo.training.loss import Objective, describe

    found = flags.pretrained()
    model = zoo.get_model(values.model, weights=found)
    entry = found.entry
    trained = entry["config"].get("data", {}) if entry else {}
    data = _load(values, model.input_shape[1:], trained)
    if len(model.output_shape) == 2:  # a classifier
        classes = model.output_shape[1]
        predictions.check_classes(classes, found, data.name, data.class_names)
    split = getattr(data, _SPLIT.value)
    measures = Objective(found.loss, found.preprocessing)
    measured = Evaluator(model, measures)(split)
    own = entry and entry["dataset"] == data.name
    settings = entry["config"].get("data", {}) if own else {}
    seen = _SPLIT.value == "train" or settings.get("train_on_validation")
    if _JSON.value:
        print(json.dumps({"split": _SPLIT.value, "images": len(split), **measured}))
    else:
        print(
            f"{values.model} on {data.name}, {len(split)} {_SPLIT.value} images: "
            f"{describe(measured)}"
        )
    if data.note and not own:
        print(f"note: {data.note}", file=sys.stderr)
    if own and entry.get("images", data.images) != data.images:
        print(
            f"note: the images have changed since {entry['tag']} was trained, from "
            f"{entry['images']} to {data.images}.",
            file=sys.stderr,
        )
    if own and seen and _SPLIT.value != "test":
        print(
            f"note: {entry['tag']} was trained on these {_SPLIT.value} images.",
            file=sys.stderr,
        )


def _load(values, shape: tuple[int, int, int], trained: dict):
    from elu_zoo import registry
    from elu_zoo.data import imagenet, load

    if registry.entry(values.model).preprocessing["kind"] != "mean_crop":
        return load.load(values.data, values.data_dir, shape)
    folder = "" if values.data in load.ENCODED else values.data
    count = trained.get("validation_images", imagenet.VALIDATION_IMAGES)
    return imagenet.load(folder, shape[0], count, values.data_dir)


def run() -> None:
    flags.run(main, early.check_flags)


if __name__ == "__main__":
    run()
