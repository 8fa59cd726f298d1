"""Images and labels of an .npz file."""

from pathlib import Path

import numpy as np
from absl import logging

from elu_zoo import errors, files
from elu_zoo.data import shapes
from elu_zoo.data.cache import Arrays
from elu_zoo.data.shapes import Shape

# Accepted names of the arrays of images and labels, by split.
_NAMES = {
    "train": (("x_train", "y_train"), ("images", "labels"), ("x", "y")),
    "validation": (("x_validation", "y_validation"), ("x_val", "y_val"), ("x_valid", "y_valid")),
    "test": (("x_test", "y_test"),),
}
_EXPECTED = (
    "Expected arrays x_train and y_train (or images and labels); x_val and y_val (or x_valid and "
    "y_valid), x_test, y_test and class_names are optional"
)
_NUMBER_LABELS = "Use np.searchsorted(np.unique(y_train), y), for one-hot labels argmax(1)."


def read(path: Path, shape: Shape | None) -> Arrays:
    """Returns the arrays for `splits.split` of a file with the arrays of `_EXPECTED`.

    Images are `(n, height, width[, channels])`, 0..255. They are adapted to a shape
    unless it is None. Labels are integers; without `class_names`, they name the classes.
    """
    stored, used = _stored_arrays(path), {"class_names"}
    arrays: Arrays = {}
    for part, pairs in _NAMES.items():
        present = [pair for pair in pairs if {*pair} & {*stored}]
        if not present:
            continue
        images, labels = present[0]
        if missing := {images, labels} - {*stored}:
            raise errors.DataError(f"{path} has no array {missing.pop()}. {_EXPECTED}.")
        arrays[f"{part}_images"] = _images(stored[images], f"{path}: {images}", shape)
        arrays[f"{part}_labels"] = _labels(stored[labels], f"{path}: {labels}")
        used |= {images, labels}
    if "train_images" not in arrays:
        raise errors.DataError(
            f"{path} has no training images. {_EXPECTED}. Received: "
            f"{', '.join(stored) or 'nothing'}."
        )
    if unread := sorted({*stored} - used):
        logging.warning("%s: arrays not read: %s. %s.", path, errors.listed(unread), _EXPECTED)
    if "class_names" in stored:
        names = stored["class_names"].ravel()
        names = np.char.decode(names, errors="replace") if names.dtype.kind == "S" else names
        return {**arrays, "class_names": np.char.strip(names.astype(str))}
    labels = np.unique(arrays["train_labels"])
    numbers = np.arange(len(labels))
    if not np.array_equal(labels, numbers):
        raise errors.DataError(
            f"{path} has no class_names, so its training labels must be 0, 1, 2, ... "
            f"Received: {errors.listed([*map(str, labels)])}. {_NUMBER_LABELS}"
        )
    return {**arrays, "class_names": numbers}


def _stored_arrays(path: Path) -> Arrays:
    """Returns all arrays of a file."""
    try:
        with files.open_regular(path) as file:
            return dict(np.lib.npyio.NpzFile(file, allow_pickle=False))
    except MemoryError:
        raise
    # The zip and zlib modules and NumPy raise errors of many types for damaged files.
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error).rstrip('.')}"
        raise errors.DataError(
            f"{path} is not a readable .npz file ({reason}). Write arrays of numbers with "
            "np.savez, and class_names as text, class_names.astype(str)."
        ) from error


def _images(images: np.ndarray, name: str, shape: Shape | None) -> np.ndarray:
    """Returns checked images, uint8 `(n, height, width, channels)`."""
    if images.ndim == 3:
        images = images[..., None]
    is_image = images.ndim == 4 and images.shape[3] in (1, 3, 4) and images.dtype.kind in "iuf"
    if not is_image or min(images.shape[1:3]) < shapes.MIN_SIDE:
        raise errors.DataError(
            f"{name} has {images.dtype} values in the shape {images.shape}; expected numbers (n, "
            "height, width), or (n, height, width, channels) with 1, 3 or 4 channels, and at "
            f"least {shapes.MIN_SIDE} pixels on each side. Move axes with np.moveaxis."
        )
    shapes.check_memory(len(images), shape or images.shape[1:])
    images = shapes.to_pixels(images, name, errors.DataError)
    if images.max(initial=0) == 1:
        logging.warning("%s: pixels are 0 or 1; expected 0..255. Multiply them by 255.", name)
    if shape is not None and images.shape[1:] != shape:
        from elu_zoo.data.images import adapt_all

        images = adapt_all(images, shape)
    return images


def _labels(labels: np.ndarray, name: str) -> np.ndarray:
    """Returns checked labels, int64 `(n,)`."""
    if labels.ndim == 2 and labels.shape[1] == 1:  # as in Keras' data sets
        labels = labels[:, 0]
    if labels.dtype.kind == "f" and (labels == labels.round()).all():
        labels = labels.astype(np.int64)
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise errors.DataError(
            f"{name} has {labels.dtype} values in the shape {labels.shape}; expected "
            f"one integer per image. {_NUMBER_LABELS}"
        )
    return labels.astype(np.int64)
