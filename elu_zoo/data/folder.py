"""Folders of image files, one folder per class."""

import dataclasses
import json
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from absl import logging

from elu_zoo import errors, files
from elu_zoo.data import cache, class_names, encoded, shapes
from elu_zoo.data.dataset import SPLIT_NAMES, SPLITS
from elu_zoo.data.encoded import EncodedImages, Example
from elu_zoo.data.formats import MAX_BYTES, SUFFIXES

_READERS = 16  # files that are read in parallel, to hide the latency of a network disk
LAYOUT = "Expected <class>/<file>.JPEG, or train/<class>/... and val/<class>/..."


@dataclasses.dataclass(frozen=True, eq=False)
class FilesOfSplit:
    """The image files of one split, with paths relative to `root`; an `encoded.Examples`."""

    root: Path
    paths: tuple[str, ...]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, positions: Sequence[int]) -> list[Example]:
        """Returns the files at these positions; see `encoded.Examples`."""
        with ThreadPoolExecutor(_READERS) as pool:
            return list(pool.map(self._read, positions))

    def _read(self, position: int) -> Example:
        path = self.root / self.paths[position]
        try:
            content = files.read_regular(path, MAX_BYTES, "an image file")
        except errors.CorruptError as error:
            raise errors.DataError(f"{path}: it {error}.") from None
        except OSError as error:
            raise errors.DataError(f"Cannot read {path}: {error.strerror}.") from error
        return Example(str(path), content, int(self.labels[position]))


def find(
    folder: str | os.PathLike, names: Sequence[str] = ("train", "validation")
) -> EncodedImages:
    """Finds the images `<folder>/<class>/<file>`.

    The label of a class is its position in the sorted list of folders that hold images. If `folder`
    has a subfolder `train/` of class folders, the splits are `train/` and `val/`, or other names of
    `SPLIT_NAMES`. Otherwise all images are the training split. A file is an image if its name ends
    in one of `formats.SUFFIXES`; a warning lists images and folders that are not read. For display
    names, see `class_names.read`. The fingerprint is a hash of the names and sizes of all images.

    Args:
        folder: the folder.
        names: names of the splits to look for; the first is "train".
    """
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise errors.NotFoundError(f"There is no folder {folder}. {LAYOUT}")
    try:
        roots = _roots(folder, names)
        scanned = {split: _scan(root) for split, root in roots.items()}
    except OSError as error:
        raise errors.DataError(
            f"Cannot read {error.filename or folder}: {error.strerror}."
        ) from error
    for split, root in roots.items():
        if not scanned[split]:
            raise errors.DataError(f"{root} holds no images (PNG, JPEG) in class folders. {LAYOUT}")
    raw = sorted({path.split("/")[0] for path, _ in scanned["train"]})
    classes = list(dict.fromkeys(map(class_names.normal, raw)))
    if unreadable := [x for x in classes if not x.isprintable()]:
        raise errors.DataError(f"Rename the class folder {unreadable[0]!r} in {roots['train']}.")
    text = json.dumps({split: scanned[split] for split in sorted(scanned)})
    return EncodedImages(
        name=re.sub(r"\W+", "_", folder.resolve().name.lower()) or "folder",
        fingerprint=files.sha256(text.encode())[:8],
        class_names=class_names.read(folder, classes),
        splits={x: _label_files(root, scanned[x], classes) for x, root in roots.items()},
    )


def _roots(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Returns the folder of each split; without classes in train/, all folders are classes."""
    folders = _folders(folder)
    named = [(split, x) for split in names for x in folders if x.name.lower() in SPLIT_NAMES[split]]
    roots = dict(named)
    is_split = "train" in roots and any(map(_has_images, _folders(roots["train"])))
    flat = {x.name.lower() for x in folders if not is_split and _has_images(x)}
    if len(named) > len(roots) or (flat and flat <= {*sum(SPLIT_NAMES.values(), ())}):
        raise errors.DataError(
            f"{folder} needs one folder for each split, with class folders in it. It has "
            f"{errors.listed([x.name for x in folders])}. {LAYOUT}"
        )
    if is_split:
        _warn_unread(folder, [x.name for x in folders if x not in roots.values()])
    return roots if is_split else {"train": folder}


def _label_files(
    root: Path, scanned: Sequence[tuple[str, int]], classes: Sequence[str]
) -> FilesOfSplit:
    """Returns the files of a split, with their labels, from what `_scan` returned."""
    paths = tuple(path for path, _ in scanned)
    names = [class_names.normal(path.split("/")[0]) for path in paths]
    unknown = sorted({*names} - {*classes})
    if unknown:
        raise errors.DataError(
            f"{root} has {len(unknown)} classes that the training split does not have: "
            f"{errors.listed(unknown)}. {errors.did_you_mean(unknown[0], classes)}"
            "Add training images of these classes, or remove their folders."
        )
    labels = {name: label for label, name in enumerate(classes)}
    return FilesOfSplit(root, paths, np.array([labels[name] for name in names], np.int32))


def read(folder: Path, shape: shapes.Shape) -> cache.Arrays:
    """Returns the arrays for `splits.split` of a folder's images, adapted to a shape."""
    source = find(folder, SPLITS)
    paths = [part.root / path for part in source.splits.values() for path in part.paths]
    shapes.check_memory(len(paths), shape)

    def build() -> cache.Arrays:
        size = "x".join(map(str, shape))
        logging.info("Decoding %d images of %s to %s.", len(paths), folder, size)
        arrays: cache.Arrays = {}
        bad = []
        for name, part in source.splits.items():
            images = np.empty((len(part), *shape), np.uint8)
            decoded = encoded.decode_all(part, range(len(part)), shape)
            for index, image in enumerate(decoded):
                if image.problem:
                    bad.append(image.problem)
                else:
                    images[index] = image.pixels
            arrays[f"{name}_images"] = images
            arrays[f"{name}_labels"] = part.labels
        if bad:
            raise encoded.unusable_error(bad, len(paths))
        return arrays

    key = f"{source.name}-{source.fingerprint}"
    arrays = cache.load(key, paths, build, shape)
    for split, part in source.splits.items():
        arrays[f"{split}_paths"] = np.array([str(part.root / x) for x in part.paths])
    return {**arrays, "class_names": np.array(source.class_names)}


def _scan(root: Path) -> list[tuple[str, int]]:
    """Returns path and size of each image in the class folders, sorted by path."""
    images: list[tuple[str, int]] = []
    unread = [x.name for x in _visible(root) if x.name.lower().endswith(SUFFIXES)]
    for folder in _folders(root):
        before = len(images)
        for file in _visible(folder):
            path = f"{folder.name}/{file.name}"
            if file.name.lower().endswith(SUFFIXES):
                images.append((path, file.stat().st_size))
            elif file.is_dir():
                unread.append(path)
        if len(images) == before:
            unread.append(folder.name)
    if images:
        _warn_unread(root, sorted(unread))
    return sorted(images)


def _warn_unread(root: Path, names: Sequence[str]) -> None:
    if names:
        logging.warning("Not read in %s: %s. %s", root, errors.listed(names), LAYOUT)


def _visible(folder: Path) -> list[os.DirEntry]:
    with os.scandir(folder) as entries:
        return [entry for entry in entries if not entry.name.startswith(".")]


def _folders(folder: Path) -> list[Path]:
    return sorted(folder / entry.name for entry in _visible(folder) if entry.is_dir())


def _has_images(folder: Path) -> bool:
    return any(x.name.lower().endswith(SUFFIXES) for x in _visible(folder))
