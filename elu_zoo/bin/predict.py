"""Predicts the classes of images, or reconstructs images with an autoencoder.

elu-zoo-predict --saved_model=exports/mnist_mlp_8x128 --data=mnist_5k --count=5
elu-zoo-predict --model=mnist_mlp_8x128 --weights=mnist --digit digit.png digits/
elu-zoo-predict --saved_model=exports/mnist_autoencoder --data=mnist --picture=x.png
elu-zoo-predict --prefetch='elu_cifar_11.*'

A folder stands for its PNG, JPEG and WebP files. A path that does not exist stops the
command with code 2. Files that cannot be read are reported and skipped if other files
can be read; the code is then 1.
"""

import json
import sys

from absl import flags as absl_flags

from elu_zoo import errors
from elu_zoo.bin import early, flags, table
from elu_zoo.weights.download import fetch_weights

_SAVED_MODEL = flags.define_path(
    "saved_model", None, "Folder of an exported model, instead of --model and --weights."
)
_COUNT = absl_flags.DEFINE_integer("count", 10, "Number of test images of --data.", 1)
_TOP = absl_flags.DEFINE_integer("top", 3, "Number of classes per image.", 1)
_PICTURE = flags.define_path(
    "picture",
    "reconstructions.png",
    "PNG file of reconstructions; with --json it is written only if this flag is set.",
)
_JSON = absl_flags.DEFINE_bool("json", False, "Print one JSON object per image.")
_INVERT = absl_flags.DEFINE_bool(
    "invert", False, "Invert dark digits on white that are placed as in MNIST."
)
_DIGIT = absl_flags.DEFINE_bool("digit", False, "Put digits into MNIST's form.")
_PREFETCH = absl_flags.DEFINE_string(
    "prefetch", None, "Download the weights whose tags match the pattern, and exit."
)
flags.define_model()
flags.define("data", "data_dir")


def main(argv: list[str]) -> int | None:
    paths, values = argv[1:], absl_flags.FLAGS
    if _PREFETCH.present:
        return print(*fetch_weights(_PREFETCH.value), sep="\n")

    from elu_zoo.export import inputs, predictor

    weights = flags.pretrained()
    load = predictor.from_weights if weights else predictor.from_saved_model
    model = load(weights or _SAVED_MODEL.value)
    if model.is_autoencoder and _TOP.present:
        raise errors.UsageError("The model is an autoencoder. Remove --top.")
    if not model.is_autoencoder and _PICTURE.present:
        raise errors.UsageError("The model is a classifier. Remove --picture.")
    if paths:
        images = inputs.read_files(paths, model, _DIGIT.value)
    else:
        count = _COUNT.value
        images = inputs.load_test_images(values.data, values.data_dir, count, model)
    images = images.inverse() if _INVERT.value else images
    for sentence in images.complaints(model):
        print("warning:", errors.printable(sentence), file=sys.stderr)
    rows, pixels = images.predict(model, _TOP.value)
    note = ""
    if model.is_autoencoder and (_PICTURE.present or not _JSON.value):
        note = predictor.picture(_PICTURE.value, images.images, pixels)
    if _JSON.value:
        print("\n".join(json.dumps(row) for row in rows))
    else:
        table.show([predictor.text(row) for row in rows])
    if note:
        print(note, file=sys.stderr if _JSON.value else sys.stdout)
    return 1 if images.left_out else 0


def run() -> None:
    flags.run(main, early.check_images)


if __name__ == "__main__":
    run()
