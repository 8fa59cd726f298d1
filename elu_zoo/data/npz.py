"""Images and labels of an .npz file."""

from pathlib import Path

import numpy as np

from elu_zoo import errors, files
from elu_zoo.data import shapes
from elu_zoo.data.cache import Arrays
from elu_zoo.data.shapes import Shape

# Accepted names of the arrays of images and labels, by split.
_NAMES = {
    "train": (("x_train", "y_train"), ("images", "labels"), ("x", "y")),
    "validation": (("x_validation", "y_validation"), ("x_val", "y_val")),
    "test": (("x_test", "y_test"),),
}
_EXPECTED = (
    "Expected arrays x_train and y_train (or images and labels); x_val, y_val, x_test, "
    "y_test and class_names are optional"
)
_NUMBER_LABELS = "Number the labels with np.unique(labels, return_inverse=True)[1]."


def read(path: Path, shape: Shape | None) -> Arrays:
    """Reads images `(n, height, width[, channels])`, 0..255, and integer labels.

    Args:
        path: path of a file with the arrays of `_EXPECTED`. Without `class_names`, the
            name of a class is its number.
        shape: `(height, width, channels)` to which the images are adapted; None keeps
            the shape of the images.

    Returns:
        Images and labels of each split, and `class_names`; see `splits.split`.
    """
    stored = _stored_arrays(path)
    arrays: Arrays = {}
    for part, pairs in _NAMES.items():
        present = [pair for pair in pairs if pair[0] in stored or pair[1] in stored]
        if not present:
            continue
        images, labels = present[0]
        if images not in stored or labels not in stored:
            missing = labels if images in stored else images
            raise errors.DataError(f"{path} has no array {missing}. {_EXPECTED}.")
        arrays[f"{part}_images"] = _images(stored[images], f"{path}: {images}", shape)
        arrays[f"{part}_labels"] = _labels(stored[labels], f"{path}: {labels}")
    if "train_images" not in arrays:
        raise errors.DataError(
            f"{path} has no training images. {_EXPECTED}. Received: "
            f"{', '.join(stored) or 'nothing'}."
        )
    names = stored.get("class_names")
    if names is None:
        return {**arrays, "class_names": _class_numbers(arrays, path)}
    if names.ndim != 1:
        raise errors.DataError(
            f"{path}: class_names must be a list of names, one for each label. "
            f"Received: an array of the shape {names.shape}."
        )
    return {**arrays, "class_names": names.astype(str)}


def _stored_arrays(path: Path) -> Arrays:
    """Returns all arrays of a file."""
    try:
        with files.open_regular(path) as file:
            return dict(np.lib.npyio.NpzFile(file, allow_pickle=False))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise errors.NotFoundError(f"There is no file {path}.") from error
    except errors.CorruptError as error:
        raise errors.DataError(f"{path} {error}.") from None
    # The zip and zlib modules and NumPy raise errors of many types for damaged files.
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error).rstrip('.')}"
        raise errors.DataError(
            f"{path} is not a readable .npz file ({reason}). Write arrays of numbers with np.savez."
        ) from error


def _class_numbers(arrays: Arrays, path: Path) -> np.ndarray:
    """Returns the class numbers 0, 1, 2, ..., after a check of all labels."""
    train = np.unique(arrays["train_labels"])
    labels = [arrays[key] for key in arrays if key.endswith("labels")]
    all_splits = np.unique(np.concatenate(labels))
    numbers = np.arange(len(train))
    if not np.array_equal(train, numbers) or not np.array_equal(all_splits, numbers):
        raise errors.DataError(
            f"{path} has no class_names, so its labels must be 0, 1, 2, ..., each with "
            f"training images. Received: {errors.listed([*map(str, train)])} in the training "
            f"labels, {errors.listed([*map(str, all_splits)])} in all splits. {_NUMBER_LABELS}"
        )
    return numbers


def _images(images: np.ndarray, name: str, shape: Shape | None) -> np.ndarray:
    """Returns checked images, uint8 `(n, height, width, channels)`."""
    if images.ndim == 3:
        images = images[..., None]
    is_image = images.ndim == 4 and images.shape[3] in (1, 3, 4)
    if not is_image or min(images.shape[1:3]) < shapes.MIN_SIDE:
        raise errors.DataError(
            f"{name} has the shape {images.shape}; expected (n, height, width), or (n, height, "
            f"width, channels) with 1, 3 or 4 channels, and at least {shapes.MIN_SIDE} pixels on "
            "each side. Move axes with np.moveaxis."
        )
    shapes.check_memory(len(images), shape or images.shape[1:])
    if images.dtype != np.uint8 and not _are_pixels(images):
        raise errors.DataError(
            f"{name} has {images.dtype} values; expected whole numbers in 0..255. "
            "Convert pixels in [0, 1] with (255 * x).round().astype('uint8')."
        )
    images = images.astype(np.uint8, copy=False)
    if shape is not None and images.shape[1:] != shape:
        from elu_zoo.data.images import adapt_all

        images = adapt_all(images, shape)
    return images


def _are_pixels(images: np.ndarray) -> bool:
    """Returns whether images are whole numbers in 0..255."""
    if images.dtype.kind not in "iuf" or not images.size:
        return images.dtype.kind in "iuf"
    if images.min() < 0 or images.max() > 255:
        return False
    # Images of only 0.0 and 1.0 probably have black and white pixels in [0, 1].
    return images.dtype.kind != "f" or (images.max() > 1 and (images == images.round()).all())


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
