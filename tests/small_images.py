"""Folders of small image files, and runs of the ImageNet network on them."""

import os
from pathlib import Path

import numpy as np
from image_files import fill, jpeg, png

from elu_zoo.configs import elu_imagenet_15

# An epoch on 3 x 7 images has five iterations.
ENTRIES = {
    "model.width": 0.02,
    "model.stem_stride": 1,
    "model.spp_levels": (1,),
    "data.image_size": 24,
    "data.crop_size": 16,
    "data.train_examples": 0,
    "data.validation_images": 5,
    "train.batch_size": 4,
    "train.boundaries": (6,),
    "train.learning_rates": (0.002, 0.001),
    "train.checkpoint_every": 4,
}


def write(root, classes, count, side=20, seed=0):
    """Writes noise as <root>/<class>/<file>, `count` files per class, JPEG and PNG in turn."""
    shape = classes, count, side, side, 3
    images = np.random.default_rng(seed).integers(0, 256, shape, "uint8")
    contents = {}
    for label, class_images in enumerate(images):
        for index, image in enumerate(class_images):
            suffix, encode = ("png", png) if index % 2 else ("JPEG", jpeg)
            contents[f"class{label:03d}/image{index}.{suffix}"] = encode(image)
    fill(root, contents)


def write_splits(root, classes=3, train=7, val=4, **arguments):
    """Writes <root>/train and <root>/val, with `train` and `val` files per class."""
    write(root / "train", classes, train, **arguments)
    write(root / "val", classes, val, seed=1, **arguments)


def get_config(folder, entries=()):
    """Returns a smoke config for a folder of images, with ENTRIES and `entries`."""
    config = elu_imagenet_15.get_config("smoke=True")
    config.update_from_flattened_dict({**ENTRIES, "data.folder": str(folder), **dict(entries)})
    return config


def sample():
    """Returns the folder of 1,000 images of ImageNet, for tests with the mark data."""
    return Path(os.environ["TFDS_DATA_DIR"]).parent / "imagenet_sample"
