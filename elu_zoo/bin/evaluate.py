"""Measures loss, error and calibration of weights on a split of a data set.

elu-zoo-evaluate --model=mnist_mlp_8x128 --weights=mnist --data=mnist [--changes]
elu-zoo-evaluate --model=elu_imagenet_15 --weights=<run> --data=imagenet2012
"""

import json
import sys

from absl import flags as absl_flags

from elu_zoo.bin import early, flags, table

_SPLITS = ["train", "validation", "test", "all"]
absl_flags.DEFINE_enum("split", "test", _SPLITS, "The split to measure.")
absl_flags.DEFINE_bool("changes", False, "Measure errors on noisy, blurred and shifted images.")
absl_flags.DEFINE_bool("json", False, "Print one JSON object.")
flags.define_model()
flags.define("data", "data_dir")
absl_flags.mark_flags_as_required(["model", "weights", "data"])


def main(_: list[str]) -> None:
    from elu_zoo import errors, zoo
    from elu_zoo.evaluation import calibrate, corruptions, images
    from elu_zoo.evaluation.evaluator import Evaluator
    from elu_zoo.evaluation.loss import Objective

    values, weights = absl_flags.FLAGS, flags.pretrained()
    model = zoo.get_model(values.model, weights=weights)
    if values.changes and len(model.output_shape) > 2:
        raise errors.UsageError("--changes needs a classifier. Remove --changes.")
    data = images.load_for(model, weights, values.data, values.data_dir)
    split, notes = data.split(values.split), list[str]()
    evaluator = Evaluator(model, Objective(weights.loss, weights.preprocessing))
    if values.changes:
        measured: dict = {"changes": corruptions.measure(evaluator, split)}
    elif weights.loss != "softmax_cross_entropy":
        measured = evaluator(split)
    else:
        measured, notes = calibrate.evaluate(evaluator, data, values.split, weights.entry)
    if values.json:
        print(json.dumps({"split": values.split, "images": len(split), **measured}))
    elif values.changes:
        table.show(corruptions.by_kind(measured["changes"]))
    else:
        title = f"{values.model} on {data.name}, {len(split)} {values.split} images"
        print(f"{title}: {calibrate.describe(measured)}")
    for note in [*images.notes(weights.entry, data, values.split), *notes]:
        print(f"note: {note}", file=sys.stderr)


run = flags.binary(main, early.check_flags)

if __name__ == "__main__":
    run()
