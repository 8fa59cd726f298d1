"""Measures loss, error and calibration of weights on a split of a data set.

elu-zoo-evaluate --model=mnist_mlp_8x128 --weights=mnist --data=mnist [--changes]
elu-zoo-evaluate --model=elu_imagenet_15 --weights=<run> --data=imagenet2012
"""

import json
import sys

from absl import flags as absl_flags

from elu_zoo.bin import early, flags, table

_SPLIT = absl_flags.DEFINE_enum(
    "split", "test", ["train", "validation", "test", "all"], "The split to measure."
)
_CHANGES = absl_flags.DEFINE_bool(
    "changes", False, "Measure errors under noise, blur, contrast, shifts and rotations instead."
)
_JSON = absl_flags.DEFINE_bool("json", False, "Print one JSON object.")
flags.define_model()
flags.define("data", "data_dir")
absl_flags.mark_flags_as_required(["model", "weights", "data"])


def main(_: list[str]) -> None:
    values = absl_flags.FLAGS

    from elu_zoo import errors, zoo
    from elu_zoo.data.class_names import matched
    from elu_zoo.evaluation import calibrate, corruptions, data_notes
    from elu_zoo.evaluation.evaluator import Evaluator
    from elu_zoo.evaluation.loss import Objective

    weights = flags.pretrained()
    model = zoo.get_model(values.model, weights=weights)
    entry, is_classifier = weights.entry, len(model.output_shape) == 2
    data_settings = entry["config"].get("data", {}) if entry else {}
    if _CHANGES.value and not is_classifier:
        raise errors.UsageError("--changes needs a classifier. Remove --changes.")
    data = _load(values, model.input_shape[1:], data_settings)
    if is_classifier:
        data = matched(data, weights.name, weights.classes, model.output_shape[1])
    split = data.split(_SPLIT.value)
    evaluator = Evaluator(model, Objective(weights.loss, weights.preprocessing))
    rows, notes = [], []
    if _CHANGES.value:
        rows = corruptions.measure(evaluator, split)
        measured = {"changes": rows}
    elif weights.loss != "softmax_cross_entropy":
        measured = evaluator(split)
    else:
        measured, notes = calibrate.evaluate(evaluator, data, _SPLIT.value, entry)
    if _JSON.value:
        print(json.dumps({"split": _SPLIT.value, "images": len(split), **measured}))
    elif rows:
        table.show(corruptions.by_kind(rows))
    else:
        print(
            f"{values.model} on {data.name}, {len(split)} {_SPLIT.value} images: "
            f"{calibrate.describe(measured)}"
        )
    for note in [*data_notes.notes(entry, data, _SPLIT.value), *notes]:
        print(f"note: {note}", file=sys.stderr)


def _load(values, shape: tuple[int, int, int], data_settings: dict):
    from elu_zoo import registry
    from elu_zoo.data import imagenet, load

    if registry.entry(values.model).preprocessing["kind"] != "mean_crop":
        return load.load(values.data, values.data_dir, shape)
    folder = "" if values.data in load.ENCODED else values.data
    count = data_settings.get("validation_images", imagenet.VALIDATION_IMAGES)
    return imagenet.load(folder, shape[0], count, values.data_dir)


def run() -> None:
    flags.run(main, early.check_flags)


if __name__ == "__main__":
    run()
