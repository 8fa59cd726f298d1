"""Data sets for classification: images with labels, in splits."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from elu_zoo import errors

# Names of each split in a user's data, in lower case.
SPLIT_NAMES = {
    "train": ("train", "training"),
    "validation": ("validation", "val", "valid"),
    "test": ("test", "testing"),
}
SPLITS = tuple(SPLIT_NAMES)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Images with their labels, in memory.

    Args:
        images: uint8 `(n, height, width, channels)`, or floats after preprocessing.
            The batches of an `EncodedSplit` hold a TensorFlow tensor.
        labels: int32 `(n,)`, each in [0, number of classes).
    """

    images: np.ndarray
    labels: np.ndarray
    is_encoded = False  # whether the images stay on the disk

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> "Split":
        """Returns the first `count` examples, or all if there are fewer."""
        return Split(self.images[:count], self.labels[:count])

    def relabelled(self, labels: np.ndarray) -> "Split":
        """Returns the images with the label `labels[i]` instead of each label i."""
        return Split(self.images, labels[self.labels])

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """`(height, width, channels)` of every image."""
        return tuple(self.images.shape[1:])

    def parts(self, size: int) -> Iterator["Split"]:
        """Yields all examples in order; the last part may be smaller than `size`."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield Split(self.images[part], self.labels[part])

    def joined(self, other: "Split") -> "Split":
        """Returns the examples of this split, then the examples of another split."""
        return Split(
            np.concatenate([self.images, other.images]), np.concatenate([self.labels, other.labels])
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ImageData:
    """A data set for classification.

    Args:
        name: the name under which the data set was loaded.
        train, validation, test: a `Split` in memory or an `encoded.EncodedSplit` each,
            disjoint unless `note` says otherwise.
        class_names: the name of each label.
        note: a warning for readers of results on this data set; may be empty.
        terms: the terms of use of the images.
        fingerprint: identifies the images, also in names of statistics files.
        is_named: False if the source has only numbers for its classes.
    """

    name: str
    train: Split
    validation: Split
    test: Split
    class_names: tuple[str, ...]
    note: str
    terms: str
    fingerprint: str
    is_named: bool = True

    def __repr__(self) -> str:
        return (
            f"ImageData({self.name!r}, train={len(self.train)}, "
            f"validation={len(self.validation)}, test={len(self.test)}, "
            f"image_shape={self.image_shape}, num_classes={self.num_classes})"
        )

    def split(self, name: str) -> Split:
        """Returns the split `train`, `validation` or `test`, or `all` of them."""
        if name != "all":
            return getattr(self, name)
        if self.train.is_encoded:
            raise errors.UsageError(
                f"The splits of {self.name}, whose images stay on the disk, are not joined. Choose "
                "one, or move the images to measure to val/<class>/, beside train/<class>/."
            )
        return self.train.joined(self.validation).joined(self.test)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """`(height, width, channels)` of every image."""
        return self.train.image_shape

    @property
    def num_classes(self) -> int:
        """Number of classes, including classes without examples."""
        return len(self.class_names)


def check(name: str, arrays: dict[str, np.ndarray]) -> None:
    """Checks what a reader returned: splits of images of one shape, and labels in range."""
    shape, classes = arrays["train_images"].shape[1:], len(arrays["class_names"])
    if wrong := [x for x in map(str, arrays["class_names"]) if x.splitlines() != [x]]:
        raise errors.DataError(f"{name}: a class name must be one line. Received: {wrong[0]!r}.")
    for split in SPLITS:
        if f"{split}_images" not in arrays:
            continue
        images, labels = arrays[f"{split}_images"], arrays[f"{split}_labels"]
        if len(images) != len(labels) or not len(images):
            raise errors.DataError(
                f"{name}: {len(images)} {split} images, {len(labels)} labels. Expected: images, "
                "and a label for each."
            )
        if images.shape[1:] != shape:
            raise errors.DataError(
                f"{name} has {split} images of the shape {images.shape[1:]}, but training "
                f"images of the shape {shape}."
            )
        bad = np.flatnonzero((labels < 0) | (labels >= classes))
        if len(bad):
            raise errors.DataError(
                f"{name}: {len(bad)} {split} labels are outside 0..{classes - 1}. The first is "
                f"{labels[bad[0]]} (image {bad[0]}). There are {classes} class names."
            )
