"""Loading of ImageNet from tensorflow-datasets, or of any folder of image files."""

import os
import re
from pathlib import Path

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data import folder as image_folder
from elu_zoo.data import order, records, splits, tfds
from elu_zoo.data.dataset import ImageData
from elu_zoo.data.encoded import EncodedImages, EncodedSplit
from elu_zoo.data.load import IMAGENET

VALIDATION_IMAGES = 5000  # the paper's number
_HELD_OUT = 10  # one image in ten is held out of a folder without splits
_TERMS = (
    "ImageNet (ILSVRC 2012): O. Russakovsky et al., 2015; for non-commercial research "
    "and education."
)


def load(
    folder: str | os.PathLike,
    image_size: int,
    validation_images: int = VALIDATION_IMAGES,
    data_dir: str | Path | None = None,
) -> ImageData:
    """Returns a data set of `EncodedSplit`s in a fixed random order; reads no image.

    The test split is the official validation split, or a random tenth of the images of
    a folder without one. The validation split is a part of the test split.

    Args:
        folder: a folder of image files, see `folder.find`, or of ArrayRecord files, see
            `records.find`; "" for the imagenet2012 of tensorflow-datasets.
        image_size: height and width to which every image is resized, in pixels.
        validation_images: greatest number of images in the validation split.
        data_dir: see `tfds.find_folder`.
    """
    source = _find(folder, data_dir)
    held_out = "validation" if "validation" in source.splits else "train"
    test = order.permutation(order.SPLIT_SEED, 0, len(source.splits[held_out]))
    if held_out == "train":
        count = max(1, len(test) // _HELD_OUT)
        test, train = test[:count], test[count:]
        logging.info("%d images of %s are held out for validation.", count, source.name)
        if (labels := getattr(source.splits["train"], "labels", None)) is not None:
            splits.warn_of_untrained(source.name, source.class_names, labels[train], labels[test])
    else:
        train = order.permutation(order.SPLIT_SEED, 1, len(source.splits["train"]))

    def split(name: str, positions: np.ndarray) -> EncodedSplit:
        return EncodedSplit(source.splits[name], positions, image_size)

    return ImageData(
        name=source.name,
        train=split("train", train),
        validation=split(held_out, test[:validation_images]),
        test=split(held_out, test),
        class_names=source.class_names,
        note="The validation images are part of the test images, as in the paper."
        + f" These are a random tenth of the folder, {len(test)} images." * (held_out == "train"),
        terms=_TERMS if re.match(IMAGENET, source.name) else "The terms of its images.",
        fingerprint=f"{source.name}-{source.fingerprint}-{image_size}",
    )


def _find(folder: str | os.PathLike, data_dir: str | Path | None) -> EncodedImages:
    """Returns the content of a folder of image files or of records, see `load`."""
    try:
        path = Path(folder).expanduser() if folder else tfds.find_folder(IMAGENET, 5, data_dir)
    except errors.DataError as error:
        raise errors.DataError(
            f"{error} The command needs ImageNet's archives in downloads/manual of data_dir, and "
            "--file_format=array_record. Or use a folder of image files: set "
            "--config.data.folder=<folder> for training, or --data=<folder> for evaluation."
        ) from error
    is_prepared = (path / records.INFO).is_file()
    source = records.find(path) if is_prepared else image_folder.find(path)
    if "train" not in source.splits:
        raise errors.DataError(f"The data set in {path} has no split 'train'.")
    if len(source.class_names) < 2:
        raise errors.DataError(
            f"All images in {path} are of one class, {source.class_names[0]}. {image_folder.LAYOUT}"
        )
    return source
