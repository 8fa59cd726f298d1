"""Any data set of images and labels that tensorflow-datasets prepared, as arrays."""

import os
from pathlib import Path

import numpy as np
import tensorflow_datasets as tfds

from elu_zoo import errors
from elu_zoo.data import damage, pixels, shapes
from elu_zoo.data.cache import Arrays

_PARTS = ("train", "validation", "test")


def read(folder: Path, shape: tuple[int, int, int] | None, remedy: str) -> Arrays:
    """Reads all parts of a data set, in the order of their files.

    Args:
        folder: that tensorflow-datasets prepared, of one version.
        shape: to which the images are adapted; None takes them as they are.
        remedy: one sentence: what to do when the files are bad.

    Returns:
        `<part>_images` and `<part>_labels` of each part, `class_names`, `terms`.

    Raises:
        DataError: it is no data set of images and labels, or it is damaged.
    """
    try:
        builder = tfds.builder_from_directory(folder)
    # What TFDS raises for damaged metadata is open-ended, as in readers.
    except Exception as error:
        raise _unreadable(folder, error, remedy) from error
    info = builder.info
    image, label = _features(folder, info.features)
    own = info.features[image].shape
    target = shape or own
    if None in target:
        raise errors.UsageError(
            f"The images of {folder} have no shape in common, {own}: image_shape says "
            "which (height, width, channels) they get. Received: None."
        )
    if "train" not in info.splits:
        raise errors.DataError(
            f"{folder} has no split 'train'. It has {', '.join(info.splits)}."
        )

    shapes.check_size(
        sum(s.num_examples for part, s in info.splits.items() if part in _PARTS), target
    )

    def adapted(example):
        return pixels.decoded(example[image], target), example[label]

    arrays: Arrays = {
        "class_names": np.array(info.features[label].names),
        "terms": np.array(_terms(info)),
    }
    for part in _PARTS:
        if part not in info.splits:
            continue
        if not info.splits[part].num_examples:
            raise errors.DataError(f"The split {part!r} of {folder} has no examples.")
        try:
            dataset = builder.as_dataset(
                split=part,
                shuffle_files=False,
                # As predictions and exports decode them.
                decoders={image: tfds.decode.SkipDecoding()},
                read_config=tfds.ReadConfig(try_autocache=False),
            )
            dataset = dataset.map(
                adapted, num_parallel_calls=os.cpu_count() or 1, deterministic=True
            )
            found = list(tfds.as_numpy(dataset.batch(1000)))
            arrays[f"{part}_images"] = np.concatenate([images for images, _ in found])
            arrays[f"{part}_labels"] = np.concatenate([labels for _, labels in found])
        except Exception as error:
            raise _unreadable(folder, error, remedy, part) from error
    return arrays


def _features(folder: Path, features: tfds.features.FeaturesDict) -> tuple[str, str]:
    """Returns the names of image and label."""
    images = [k for k, v in features.items() if isinstance(v, tfds.features.Image)]
    labels = [k for k, v in features.items() if isinstance(v, tfds.features.ClassLabel)]
    image = "image" if "image" in images else images[0] if len(images) == 1 else None
    label = "label" if "label" in labels else labels[0] if len(labels) == 1 else None
    if image is None or label is None or features[image].dtype != np.uint8:
        raise errors.DataError(
            f"{folder} is no data set of one 8-bit image and one label an example. Its "
            f"features are: {', '.join(features)}."
        )
    return image, label


def _terms(info: tfds.core.DatasetInfo) -> str:
    licence = info.redistribution_info.license.strip()
    page = f" See {info.homepage}." if info.homepage else ""
    return (
        f"{info.full_name}: {licence or 'terms unknown to tensorflow-datasets'}.{page}"
    )


def _unreadable(
    folder: Path, error: Exception, remedy: str, *splits: str
) -> errors.DataError:
    return errors.DataError(
        f"Cannot read the data set in {folder}: {damage.told(folder, error, *splits)} "
        f"{remedy}"
    )
