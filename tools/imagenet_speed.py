"""Times the reading of images for training, on one core.

    python tools/imagenet_speed.py --folder=/data/imagenet_sample

Each round times all methods once, in one process on one core. The line of a method has
the median of images per second over the rounds, and of the ratio to "decode prepared",
with its quartiles.

- decode prepared, decode originals: TensorFlow's JPEG decoder, image by image;
- read prepared: the trainer's batches from the output of tools/prepare_data.py;
- read originals: the trainer's batches from the folder, with each image resized.

The last line is the number of cores that read as fast as a device of --tflops trains,
if an image costs three forward passes, with two operations per multiply-accumulate.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf
from absl import app, flags

from elu_zoo import zoo
from elu_zoo.data import imagenet, prepare

_FOLDER = flags.DEFINE_string("folder", None, "Folder of images.", required=True)
_ROUNDS = flags.DEFINE_integer("rounds", 9, "Number of rounds.", lower_bound=1)
_IMAGES = flags.DEFINE_integer("images", 512, "Images per round.", lower_bound=1)
_BATCH = flags.DEFINE_integer("batch_size", 64, "Images per batch.", lower_bound=1)
_TFLOPS = flags.DEFINE_float("tflops", 400.0, "TFLOP/s of the device.", lower_bound=0.0)


def decode(data) -> Callable[[], None]:
    """Returns a function that decodes the images one by one, from memory."""
    split = data.train.first(min(_IMAGES.value, len(data.train)))
    examples = split.examples.read(split.positions)
    encoded = [tf.constant(example.image) for example in examples]

    def call():
        for image in encoded:
            tf.io.decode_jpeg(image, channels=3)

    return call


def read(data) -> Callable[[], None]:
    """Returns a function that reads the images in batches, like the trainer."""
    split = data.train.first(min(_IMAGES.value, len(data.train)))

    def call():
        for _ in split.batches(np.arange(len(split)), _BATCH.value):
            pass

    return call


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Unexpected arguments: {argv[1:]}")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["ELU_ZOO_HOME"] = scratch
        output = Path(scratch) / "prepared"
        prepare.prepare(_FOLDER.value, output)
        originals = imagenet.load(_FOLDER.value, 256)
        prepared = imagenet.load(output, 256)
        methods = {
            "decode prepared": decode(prepared),
            "decode originals": decode(originals),
            "read prepared": read(prepared),
            "read originals": read(originals),
        }
        rates = {name: [] for name in methods}
        for call in methods.values():
            call()
        for _ in range(_ROUNDS.value):
            for name, call in methods.items():
                start = time.perf_counter()
                call()
                count = min(_IMAGES.value, len(prepared.train))
                rates[name].append(count / (time.perf_counter() - start))
    for name, values in rates.items():
        ratios = np.array(values) / np.array(rates["decode prepared"])
        low, median, high = np.percentile(ratios, [25, 50, 75])
        print(
            f"{name:<17} {np.median(values):7.0f} images/s   "
            f"{median:5.2f} ({low:.2f}-{high:.2f}) of decode prepared"
        )
    flop = 6 * zoo.model_info("elu_imagenet_15").multiply_accumulates
    images_per_second = 1e12 * _TFLOPS.value / flop
    cores = images_per_second / np.median(rates["read prepared"])
    print(
        f"{_TFLOPS.value:.0f} TFLOP/s take {images_per_second:.0f} images/s: "
        f"{cores:.1f} cores."
    )


if __name__ == "__main__":
    app.run(main)
