"""Converts a data set of images to small JPEGs that are fast to read.

python tools/prepare_data.py --output=/data/imagenet256
python tools/prepare_data.py --folder=/data/ILSVRC2012 --output=/data/imagenet256
elu-zoo-train --config=elu_imagenet_15 --config.data.folder=/data/imagenet256

The input is imagenet2012 of tensorflow-datasets, or a folder <class>/<file>.JPEG (or
train/<class>/ and val/<class>/). The output is a data set of tensorflow-datasets with
JPEGs of 256 x 256 pixels, the mean of the training images, and report.json, a list of
unusual images. ImageNet takes about 24 GB.
"""

import signal

from absl import flags

from elu_zoo.bin import flags as binary

_FOLDER = flags.DEFINE_string(
    "folder", "", "Folder of images; by default imagenet2012 of tensorflow-datasets."
)
_OUTPUT = flags.DEFINE_string("output", None, "A new folder.", required=True)
_DATA_DIR = flags.DEFINE_string(
    "data_dir", None, "Folder of tensorflow-datasets; $TFDS_DATA_DIR by default."
)
_IMAGE_SIZE = flags.DEFINE_integer("image_size", 256, "Height and width in pixels.")
_QUALITY = flags.DEFINE_integer("quality", 85, "JPEG quality, 0 to 100.")
_MAX_BAD_EXAMPLES = flags.DEFINE_integer(
    "max_bad_examples", 0, "Largest number of unusable images to skip."
)


def main(argv: list[str]) -> None:
    from elu_zoo.data import prepare

    # SIGTERM, which a scheduler sends, removes the unfinished folder like Ctrl-C.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        report = prepare.prepare(
            _FOLDER.value,
            _OUTPUT.value,
            data_dir=_DATA_DIR.value,
            image_size=_IMAGE_SIZE.value,
            quality=_QUALITY.value,
            max_bad_examples=_MAX_BAD_EXAMPLES.value,
        )
    except KeyboardInterrupt:
        raise SystemExit("error: interrupted; nothing was written.") from None
    finally:
        signal.signal(signal.SIGTERM, before)
    written = ", ".join(f"{n} of {split}" for split, n in report.images.items())
    odd = ", ".join(f"{len(names)} {kind}" for kind, names in report.odd.items())
    print(f"{_OUTPUT.value}: {written}.")
    print(f"Unusual: {odd or 'none'}. Left out: {len(report.bad)}.")


if __name__ == "__main__":
    binary.binary(main, binary.no_arguments, verbose=True)()
