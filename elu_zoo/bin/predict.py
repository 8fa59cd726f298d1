"""Predicts the classes of images, or reconstructs images with an autoencoder.

elu-zoo-predict --model=mnist_mlp_8x128 --weights=mnist --digit digit.png digits/
"""

import json
import sys

from absl import flags as absl_flags

from elu_zoo import errors
from elu_zoo.bin import early, flags, table

flags.define_path("saved_model", None, "Exported model, instead of --model and --weights.")
absl_flags.DEFINE_integer("count", 10, "Number of test images of --data.", 1)
absl_flags.DEFINE_integer("top", 3, "Number of classes per image.", 1)
flags.define_path("picture", None, "PNG to write, of images and their reconstructions.")
absl_flags.DEFINE_bool("json", False, "Print one JSON object per image.")
absl_flags.DEFINE_bool("digit", False, "Put digits into MNIST's form.")
flags.define_model()
flags.define("data", "data_dir")


def main(argv: list[str]) -> int | None:
    paths, values = argv[1:], absl_flags.FLAGS
    from elu_zoo.export import inputs, predictor

    weights = flags.pretrained()
    load = predictor.from_weights if weights else predictor.from_saved_model
    model = load(weights or values.saved_model)
    for flag, name in (("top", "an autoencoder"), ("picture", "a classifier")):
        if values[flag].present and model.is_autoencoder == (flag == "top"):
            raise errors.UsageError(f"The model is {name}. Remove --{flag}.")
    if paths:
        images = inputs.read_files(paths, model, values.digit)
    else:
        images = inputs.load_test_images(values.data, values.data_dir, values.count, model)
    for sentence in images.complaints(model):
        print("warning:", errors.printable(sentence), file=sys.stderr)
    rows, pixels = images.predict(model, values.top)
    if values.picture:
        note = predictor.picture(values.picture, images.images, pixels)
        print(note, file=sys.stderr if values.json else sys.stdout)
    if values.json:
        print("\n".join(json.dumps(row) for row in rows))
    else:
        table.show([predictor.text(row) for row in rows])
    return 1 if images.left_out else 0


run = flags.binary(main, early.check_images)

if __name__ == "__main__":
    run()
