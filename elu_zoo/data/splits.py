"""Division of a user's images into training, validation and test splits."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data.cache import Arrays
from elu_zoo.data.dataset import ImageData, Split

NAMES = ("train", "validation", "test")
_HELD_OUT = 0.1  # fraction of the images, for each missing split


def split(name: str, arrays: Arrays, terms: str) -> ImageData:
    """Returns a data set of arrays, after a check of the arrays.

    A missing validation or test split takes about a tenth of the training images. The
    hash of the pixels of an image decides its split, so that an image stays in its
    split when other images are added or removed, and equal images share one split. The
    training images are sorted by their hashes, which mixes the classes. Warnings name
    classes without a training image, images with several labels, and images that the
    given splits share.

    Args:
        name: name of the data set.
        arrays: `<split>_images` uint8 `(n, height, width, channels)` and
            `<split>_labels` of one or more of `NAMES`, and `class_names`;
            `<split>_paths` of the images if they are files.
        terms: see `ImageData`.
    """
    arrays = dict(arrays)
    paths = {part: arrays.pop(f"{part}_paths", None) for part in NAMES}
    class_names = tuple(map(str, arrays["class_names"]))
    _check(name, arrays, class_names)
    # The arrays are hashed, so that the format of the files does not change the hash.
    content = hashlib.sha256()
    for key in sorted(arrays):
        content.update(np.ascontiguousarray(arrays[key]).data)
    by_name = {
        part: Split(arrays[f"{part}_images"], arrays[f"{part}_labels"].astype(np.int32))
        for part in NAMES
        if f"{part}_images" in arrays
    }
    hashes = {
        part: np.array([_uniform_hash(image) for image in given.images])
        for part, given in by_name.items()
    }
    _warn_of_copies(name, by_name, hashes, paths)
    given, total = list(by_name), sum(map(len, by_name.values()))
    complete = _with_held_out(name, by_name, hashes["train"])
    labels, *held_out = (complete[part].labels for part in NAMES)
    warn_of_untrained(name, class_names, labels, np.concatenate(held_out))
    cut = [f"{len(complete[x])} for {x}" for x in NAMES if x not in given]
    note = f"{name} has {total} images, of which a hash held out "
    return ImageData(
        name,
        **complete,
        class_names=class_names,
        note=f"{note}{' and '.join(cut)}." if cut else "",
        terms=terms,
        fingerprint=f"{name}-{content.hexdigest()[:8]}",
        is_named=np.asarray(arrays["class_names"]).dtype.kind not in "iu",
    )


def _with_held_out(name: str, by_name: dict[str, Split], hashes: np.ndarray) -> dict[str, Split]:
    """Returns all three splits; missing splits are cut from the training split."""
    missing = [part for part in NAMES if part not in by_name]
    train = by_name["train"]
    if len(set(hashes)) <= len(missing):
        raise errors.DataError(
            f"{name} has only {len(set(hashes))} different training images; expected "
            f"at least {len(missing) + 1}."
        )
    # The split of each image: 0 for validation, 1 for test, 2 for training.
    split_of = np.minimum(hashes / _HELD_OUT, 2).astype(int)
    order = np.argsort(hashes, kind="stable")
    wanted = [index for index in (0, 1) if NAMES[1 + index] in missing] + [2]
    split_of[~np.isin(split_of, wanted)] = 2
    for index in wanted:
        if not (split_of == index).any():  # This happens only with few images.
            _fill(split_of, hashes, index, order)
    for index in wanted[:-1]:
        chosen, part = np.flatnonzero(split_of == index), NAMES[1 + index]
        by_name[part] = Split(train.images[chosen], train.labels[chosen])
        logging.info("%s: %d images held out for %s.", name, len(chosen), part)
    # In this order, the first images of the split have all classes.
    remaining = [i for i in order if split_of[i] == 2]
    by_name["train"] = Split(train.images[remaining], train.labels[remaining])
    return by_name


def _fill(split_of: np.ndarray, hashes: np.ndarray, index: int, order: Any) -> None:
    """Moves the first image whose split keeps other images, of training if possible."""
    for i in sorted(order, key=lambda i: split_of[i] != 2):
        others = set(hashes[split_of == split_of[i]]) - {hashes[i]}
        if others:
            split_of[hashes == hashes[i]] = index
            return


def warn_of_untrained(
    name: str, class_names: Sequence[str], train: np.ndarray, held_out: np.ndarray
) -> None:
    """Warns of the classes of held-out labels that no training label has."""
    untrained = np.setdiff1d(held_out, train)
    if len(untrained):
        logging.warning(
            "%s has no training image of %d of %d classes, which a network cannot "
            "learn from it: %s. Add images of these classes.",
            name,
            len(untrained),
            len(class_names),
            errors.listed([class_names[label] for label in untrained]),
        )


def _warn_of_copies(
    name: str,
    given: dict[str, Split],
    hashes: dict[str, np.ndarray],
    paths: dict[str, np.ndarray | None],
) -> None:
    """Warns of equal images with different labels or in different splits."""
    first: dict[float, tuple] = {}  # label, split and name of the first of each image
    relabelled, shared = [], []
    for part, split in given.items():
        names = paths[part]
        if names is None:
            names = [f"{part} image {index}" for index in range(len(split))]
        for key, label, image in zip(hashes[part], split.labels, names, strict=True):
            other = first.setdefault(key, (label, part, image))
            if other[:2] != (label, part):
                copies = shared if other[0] == label else relabelled
                copies.append(f"{other[2]} and {image}")
    for copies, text in (
        (relabelled, "are copies of an image of another class"),
        (shared, "are in two splits, so that the test error may be too low"),
    ):
        if copies:
            logging.warning(
                "%s: %d images %s, such as %s. Remove the wrong copies.",
                name,
                len(copies),
                text,
                copies[0],
            )


def _uniform_hash(image: np.ndarray) -> float:
    """Returns the hash of an image as a number in [0, 1)."""
    digest = hashlib.sha256(np.ascontiguousarray(image).data).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _check(name: str, arrays: Arrays, class_names: tuple[str, ...]) -> None:
    """Checks the number of images and classes, the shapes and the labels."""
    shape, classes = None, len(class_names)
    for part in NAMES:
        if f"{part}_images" not in arrays:
            continue
        images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
        if not len(images):
            raise errors.DataError(f"{name} has no {part} images.")
        shape = shape or images.shape[1:]
        if images.shape[1:] != shape:
            raise errors.DataError(
                f"{name} has {part} images of the shape {images.shape[1:]}, but other "
                f"images of the shape {shape}."
            )
        bad = np.flatnonzero((labels < 0) | (labels >= classes))
        if len(bad):
            raise errors.DataError(
                f"{name}: {len(bad)} {part} labels are outside 0..{classes - 1}. The "
                f"first is {labels[bad[0]]} (image {bad[0]}). There are {classes} "
                "class names."
            )
    if len(arrays["train_images"]) < len(NAMES):
        raise errors.DataError(
            f"{name} has too few training images: {len(arrays['train_images'])}; "
            f"expected at least {len(NAMES)}."
        )
