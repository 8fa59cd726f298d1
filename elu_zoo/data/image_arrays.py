"""Images and labels of an .npz file."""

import zipfile
from pathlib import Path

import numpy as np

from elu_zoo import errors
from elu_zoo.data.cache import Arrays

# The names of images and labels, by part.
_NAMES = {
    "train": (("x_train", "y_train"), ("images", "labels"), ("x", "y")),
    "validation": (("x_validation", "y_validation"), ("x_val", "y_val")),
    "test": (("x_test", "y_test"),),
}
CLASS_NAMES = "class_names"
_EXPECTED = (
    "Expected arrays x_train and y_train (or images and labels), x_val, y_val, x_test, "
    "y_test where they are given, and class_names for people"
)


def read(path: Path, shape: tuple[int, int, int] | None) -> Arrays:
    """Reads images `(n, height, width[, channels])`, 0..255, and integer labels.

    Args:
        path: of the file. It holds `x_train` and `y_train` (or `images` and `labels`),
            `x_val`, `y_val`, `x_test`, `y_test` where they are given, and
            `class_names`, without which classes are named by their numbers.
        shape: to which the images are adapted; None keeps them.

    Raises:
        NotFoundError: there is no such file.
        DataError: it is damaged, or its arrays are not of this form.
    """
    if not path.is_file():
        raise errors.NotFoundError(f"There is no file {path}.")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            given = dict(stored)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise errors.DataError(f"{path} cannot be read as .npz: {error}.") from error
    arrays: Arrays = {}
    for part, pairs in _NAMES.items():
        found = [pair for pair in pairs if pair[0] in given or pair[1] in given]
        if not found:
            continue
        images, labels = found[0]
        if images not in given or labels not in given:
            missing = labels if images in given else images
            raise errors.DataError(f"{path} has no array {missing}. {_EXPECTED}.")
        arrays[f"{part}_images"] = _images(given[images], f"{path}: {images}", shape)
        arrays[f"{part}_labels"] = _labels(given[labels], f"{path}: {labels}")
        counts = len(arrays[f"{part}_images"]), len(arrays[f"{part}_labels"])
        if counts[0] != counts[1]:
            raise errors.DataError(
                f"{path}: {images} has {counts[0]} images, {labels} {counts[1]} labels."
            )
    if "train_images" not in arrays:
        raise errors.DataError(
            f"{path} has no images to train on. {_EXPECTED}. Received: "
            f"{', '.join(given) or 'nothing'}."
        )
    labels = np.concatenate([arrays[key] for key in arrays if key.endswith("labels")])
    numbers = np.arange(labels.max(initial=-1) + 1)
    arrays["class_names"] = given.get(CLASS_NAMES, numbers).astype(str)
    if arrays["class_names"].ndim != 1:
        raise errors.DataError(
            f"{path}: class_names is a list of names, one for each label. Received: "
            f"{arrays['class_names'].shape}."
        )
    return arrays


def _images(
    images: np.ndarray, name: str, shape: tuple[int, int, int] | None
) -> np.ndarray:
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
        first = images.ndim == 4 and images.shape[1] in (1, 3)
        hint = f" Channels are last: np.moveaxis({name.split()[-1]}, 1, 3)." * first
        raise errors.DataError(
            f"{name} has the shape {images.shape}; expected (n, height, width), or "
            f"(n, height, width, 1, 3 or 4).{hint}"
        )
    if images.dtype != np.uint8:
        whole = np.issubdtype(images.dtype, np.integer) or (
            np.issubdtype(images.dtype, np.floating)
            and (images == images.round()).all()
        )
        if not whole or (len(images) and (images.min() < 0 or images.max() > 255)):
            raise errors.DataError(
                f"{name} are {images.dtype}, not whole pixels 0..255. Scale them back "
                "before they are saved: (255 * x).round().astype('uint8')."
            )
        images = images.astype(np.uint8)
    if shape is not None and images.shape[1:] != shape:
        from elu_zoo.data import pixels

        images = pixels.all_fitted(images, shape)
    return images


def _labels(labels: np.ndarray, name: str) -> np.ndarray:
    if labels.ndim == 2 and labels.shape[1] == 1:  # as of Keras' own data sets
        labels = labels[:, 0]
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        hint = " Received one column a class? Take argmax(1)." * (labels.ndim == 2)
        raise errors.DataError(
            f"{name} is {labels.dtype} of the shape {labels.shape}; expected one "
            f"integer an image.{hint}"
        )
    return labels.astype(np.int64)
