"""Images and labels of an .npz file."""

import zipfile
from pathlib import Path

import numpy as np

from elu_zoo import errors, files
from elu_zoo.data import shapes
from elu_zoo.data.cache import Arrays
from elu_zoo.data.shapes import Shape

# The names of the arrays of images and labels, by split.
_NAMES = {
    "train": (("x_train", "y_train"), ("images", "labels"), ("x", "y")),
    "validation": (("x_validation", "y_validation"), ("x_val", "y_val")),
    "test": (("x_test", "y_test"),),
}
_EXPECTED = (
    "Expected arrays x_train and y_train (or images and labels), x_val, y_val, x_test, "
    "y_test where they are given, and class_names for people"
)


def read(path: Path, shape: Shape | None) -> Arrays:
    """Reads images `(n, height, width[, channels])`, 0..255, and integer labels.

    Args:
        path: path of the file. It holds `x_train` and `y_train` (or `images` and
            `labels`), and may hold `x_val`, `y_val`, `x_test`, `y_test` and
            `class_names`, without which classes are named by their numbers.
        shape: `(height, width, channels)` to which the images are adapted; None keeps
            them as they are.

    Returns:
        Images and labels of each split, and `class_names`; see `splits.split`.

    Raises:
        NotFoundError: there is no such file.
        DataError: it is damaged or no regular file, or its arrays are not of this form.
        ResourceError: the images are too large for the memory.
    """
    try:
        with files.open_regular(path) as file, zipfile.ZipFile(file):
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                given = dict(stored)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise errors.NotFoundError(f"There is no file {path}.") from error
    except errors.CorruptError as error:
        raise errors.DataError(f"{path} {error}.") from None
    except (MemoryError, OverflowError) as error:
        raise errors.ResourceError(
            f"{path} is damaged, or its arrays are larger than the memory: {error}."
        ) from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        objects = "of Python objects, which are not read" * ("pickle" in str(error))
        raise errors.DataError(
            f"{path} is no .npz file that can be read: it is damaged, or "
            f"{objects or 'another kind of file'}. np.savez writes one."
        ) from error
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
    if "class_names" not in given:
        given["class_names"] = _numbers(arrays, path)
    arrays["class_names"] = given["class_names"].astype(str)
    if arrays["class_names"].ndim != 1:
        raise errors.DataError(
            f"{path}: class_names is a list of names, one for each label. Received: "
            f"{arrays['class_names'].shape}."
        )
    return arrays


def check_exists(path: Path) -> None:
    """Checks that a file exists; raises `NotFoundError`."""
    if not path.exists():
        raise errors.NotFoundError(f"There is no file {path}.")


def _numbers(arrays: Arrays, path: Path) -> np.ndarray:
    """Returns the numbers of the classes; each class has images to train on."""
    found = np.unique(arrays["train_labels"])
    others = [arrays[key] for key in arrays if key.endswith("labels")]
    everything = np.unique(np.concatenate(others))
    numbers = np.arange(len(found))
    if not np.array_equal(found, numbers) or not np.array_equal(everything, numbers):
        raise errors.DataError(
            f"{path} has no class_names, so that labels are 0, 1, 2, ..., each with "
            f"images to train on. Received: {_listed(found)} to train on"
            + f", {_listed(everything)} in all" * (len(everything) != len(found))
            + ". np.unique(labels, return_inverse=True)[1] numbers them."
        )
    return numbers


def _listed(labels: np.ndarray) -> str:
    return ", ".join(map(str, labels[:5])) + ", ..." * (len(labels) > 5)


def _images(images: np.ndarray, name: str, shape: Shape | None) -> np.ndarray:
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
        first = images.ndim == 4 and images.shape[1] in (1, 3)
        hint = f" Channels are last: np.moveaxis({name.split()[-1]}, 1, 3)." * first
        raise errors.DataError(
            f"{name} has the shape {images.shape}; expected (n, height, width), or "
            f"(n, height, width, 1, 3 or 4).{hint}"
        )
    if min(images.shape[1:3]) < shapes.LEAST_SIDE:
        raise errors.DataError(
            f"{name} has the shape {images.shape}; sides have {shapes.LEAST_SIDE} "
            "pixels or more."
        )
    shapes.check_size(len(images), shape or images.shape[1:])
    if images.dtype != np.uint8:
        whole = np.issubdtype(images.dtype, np.integer) or (
            np.issubdtype(images.dtype, np.floating)
            and (images == images.round()).all()
        )
        outside = whole and len(images) and (images.min() < 0 or images.max() > 255)
        if whole and images.dtype.kind == "f" and len(images) and images.max() <= 1:
            whole = False  # black and white, in [0, 1]
        if not whole or outside:
            raise errors.DataError(
                f"{name} are {images.dtype}, not whole pixels 0..255. Scale them back "
                "before they are saved: (255 * x).round().astype('uint8')."
            )
        images = images.astype(np.uint8)
    if shape is not None and images.shape[1:] != shape:
        from elu_zoo.data.images import adapt_all

        images = adapt_all(images, shape)
    return images


def _labels(labels: np.ndarray, name: str) -> np.ndarray:
    if labels.ndim == 2 and labels.shape[1] == 1:  # as of Keras' own data sets
        labels = labels[:, 0]
    if labels.dtype.kind == "f" and (labels == labels.round()).all():
        labels = labels.astype(np.int64)
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        hint = " Received one column a class? Take argmax(1)." * (labels.ndim == 2)
        if labels.dtype.kind in "US":
            hint = " Number them: np.unique(labels, return_inverse=True)[1]."
        raise errors.DataError(
            f"{name} is {labels.dtype} of the shape {labels.shape}; expected one "
            f"integer an image.{hint}"
        )
    return labels.astype(np.int64)
