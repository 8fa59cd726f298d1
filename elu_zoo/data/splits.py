"""Division of a user's images into training, validation and test splits."""

import hashlib
from collections.abc import Sequence

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data import dataset
from elu_zoo.data.cache import Arrays
from elu_zoo.data.dataset import SPLITS, ImageData, Split

_HELD_OUT = 0.1  # fraction of the images, for each missing split


def split(name: str, arrays: Arrays, terms: str) -> ImageData:
    """Returns a data set of arrays, after a check of the arrays.

    A missing validation or test split takes about a tenth of the training images. The
    hash of the pixels of an image decides its split, so that an image stays in its
    split when other images are added or removed, and equal images share one split. Only a
    split that would be empty takes others. The training images are sorted by their hashes.

    Args:
        name: name of the data set.
        arrays: `<split>_images` uint8 `(n, height, width, channels)` and `<split>_labels` of one or
            more of `SPLITS`, and `class_names`; `<split>_paths` of the images if they are files.
        terms: see `ImageData`.
    """
    dataset.check(name, arrays)
    class_names = tuple(map(str, arrays["class_names"]))
    # The arrays are hashed, so that the format of the files does not change the hash.
    content = hashlib.sha256()
    for key in sorted(arrays):
        if not key.endswith("_paths"):
            content.update(np.ascontiguousarray(arrays[key]).data)
    given = {
        part: Split(arrays[f"{part}_images"], arrays[f"{part}_labels"].astype(np.int32))
        for part in SPLITS
        if f"{part}_images" in arrays
    }
    hashes = {part: np.array([*map(_uniform_hash, x.images)]) for part, x in given.items()}
    _warn_of_copies(name, given, hashes, arrays)
    complete = given | _cut(name, given, hashes["train"])
    held_out = np.concatenate([complete[part].labels for part in SPLITS[1:]])
    warn_of_untrained(name, class_names, complete["train"].labels, held_out)
    cut = [f"{len(complete[x])} for {x}" for x in SPLITS if x not in given]
    note = f"{name} has {sum(map(len, given.values()))} images, of which a hash held out "
    return ImageData(
        name,
        **complete,
        class_names=class_names,
        note=f"{note}{' and '.join(cut)}." if cut else "",
        terms=terms,
        fingerprint=f"{name}-{content.hexdigest()[:8]}",
        is_named=np.asarray(arrays["class_names"]).dtype.kind not in "iu",
    )


def _cut(name: str, given: dict[str, Split], hashes: np.ndarray) -> dict[str, Split]:
    """Returns the splits that are cut from the training images, and the rest of these."""
    # The split of each image, as a position in SPLITS.
    missing = [index for index, part in enumerate(SPLITS) if part not in given]
    if len(set(hashes)) <= len(missing):
        raise errors.DataError(
            f"{name} has {len(hashes)} training images, of which {len(set(hashes))} are distinct; "
            f"{len(missing) + 1} distinct ones are needed. Add images."
        )
    split_of = np.minimum(hashes / _HELD_OUT, 2).astype(int) + 1
    split_of[~np.isin(split_of, missing)] = 0
    order = np.argsort(hashes, kind="stable")
    for index in (*missing, 0):
        if not (split_of == index).any():  # This happens only with few images.
            # The first image, of training if possible, whose split keeps other images.
            first = next(
                i
                for i in sorted(order, key=lambda i: split_of[i] != 0)
                if len({*hashes[split_of == split_of[i]]}) > 1
            )
            split_of[hashes == hashes[first]] = index
    cut = {}
    for index in (0, *missing):
        # Sorted by hashes, the first images of the training split have all classes.
        chosen = order[split_of[order] == 0] if index == 0 else np.flatnonzero(split_of == index)
        cut[SPLITS[index]] = Split(given["train"].images[chosen], given["train"].labels[chosen])
        logging.info("%s: %d images for %s.", name, len(chosen), SPLITS[index])
    return cut


def warn_of_untrained(
    name: str, class_names: Sequence[str], train: np.ndarray, held_out: np.ndarray
) -> None:
    """Warns of the classes of held-out labels that no training label has."""
    untrained = np.setdiff1d(held_out, train)
    if len(untrained):
        listed = errors.listed([class_names[label] for label in untrained])
        logging.warning(
            f"{name} has no training image of {len(untrained)} of {len(class_names)} classes, "
            f"which a network cannot learn from it: {listed}. Add images of these classes."
        )


def _warn_of_copies(
    name: str, given: dict[str, Split], hashes: dict[str, np.ndarray], arrays: Arrays
) -> None:
    """Warns of equal images with different labels or in different splits."""
    first: dict[float, tuple] = {}  # label, split and name of the first of each image
    relabelled: list[str] = []
    shared: list[str] = []
    for part, split in given.items():
        numbered = [f"{part} image {index}" for index in range(len(split))]
        names = arrays.get(f"{part}_paths", numbered)
        for key, label, image in zip(hashes[part], split.labels, names, strict=True):
            other = first.setdefault(key, (label, part, image))
            if other[:2] != (label, part):
                (shared if other[0] == label else relabelled).append(f"{other[2]} and {image}")
    for found, text in (
        (relabelled, "are copies of an image of another class"),
        (shared, "are in two splits, so that the test error may be too low"),
    ):
        if found:
            advice = "%s: %d images %s, such as %s. Remove the wrong copies."
            logging.warning(advice, name, len(found), text, found[0])


def _uniform_hash(image: np.ndarray) -> float:
    """Returns the hash of an image as a number in [0, 1)."""
    digest = hashlib.sha256(np.ascontiguousarray(image).data).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
