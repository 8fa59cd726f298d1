"""Folders of image files, one folder a class: their files, and their arrays."""

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
from elu_zoo.data import cache, class_names, shapes, splits
from elu_zoo.data.encoded import Example, UnusableFileError
from elu_zoo.data.formats import MOST_BYTES, SUFFIXES

_READERS = 16  # files at once, which hides the latency of a network's disk
LAYOUT = "Expected <class>/<file>.JPEG, or train/<class>/... and val/<class>/..."


@dataclasses.dataclass(frozen=True, eq=False)
class FilesOfSplit:
    """The files of one split.

    Args:
        root: the folder that holds the class folders.
        paths: path of each file, relative to `root`.
        labels: int32 `(n,)`, label of each file.
    """

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
        path, label = self.root / self.paths[position], int(self.labels[position])
        try:
            content = files.read_regular(path, MOST_BYTES, "an image file")
            return Example(str(path), content, label)
        except errors.CorruptError as error:
            raise UnusableFileError(str(path), label, str(error)) from None
        except OSError as error:
            raise errors.DataError(f"Cannot read {path}: {error.strerror}.") from error


@dataclasses.dataclass(frozen=True, eq=False)
class ImageFolder:
    """A folder of image files.

    Args:
        name: the folder's name, in lower case letters, digits and underscores.
        fingerprint: hash of names and sizes of all files.
        classes: the name of each label's folder, sorted.
        class_names: the name of each label for people; two labels may share one.
        splits: the files of each split that the folder has, "train" at least.
    """

    name: str
    fingerprint: str
    classes: tuple[str, ...]
    class_names: tuple[str, ...]
    splits: dict[str, FilesOfSplit]


def find(
    folder: str | os.PathLike, names: Sequence[str] = ("train", "validation")
) -> ImageFolder:
    """Finds the images of `<folder>/<class>/<file>`.

    Labels number the folders that hold images, sorted by name. Where a folder holds
    `train/`, it and `val/` (or `validation/`) are the splits; else all images are one
    split. A file `class_names.txt` names classes for people, see `class_names.read`.
    Other files are ignored, and the log counts them. What has the suffix of an image
    (see `formats.SUFFIXES`) counts as one; reading refuses it where it is not a regular
    file of at most `formats.MOST_BYTES` bytes.

    Args:
        folder: the folder.
        names: names of the splits to look for, the first of them "train".

    Raises:
        NotFoundError: there is no such folder.
        DataError: it holds no images, its parts do not fit together or cannot be read,
            or the name of a class is not UTF-8.
    """
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise errors.NotFoundError(f"There is no folder {folder}.")
    train = folder / "train"
    roots = {"train": train if train.is_dir() else folder}
    for split in names[1:] if train.is_dir() else ():
        for name in (split, split.removesuffix("idation")):
            if (folder / name).is_dir():
                roots[split] = folder / name
    found = {split: _scan(root) for split, root in roots.items()}
    classes = sorted({path.split("/")[0] for path, _ in found["train"]})
    for name in classes:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise errors.DataError(
                f"The name of the folder {os.fsencode(name)!r} in {roots['train']} is "
                "not UTF-8: its class could not be written. Rename it."
            ) from None
    splits = {}
    for split, root in roots.items():
        indices = {name: index for index, name in enumerate(classes)}
        paths = tuple(path for path, _ in found[split])
        if not paths:
            raise _no_images(root)
        for path in paths:
            if path.split("/")[0] not in indices:
                raise errors.DataError(
                    f"{root / path} is of a class that {roots['train']} does not have."
                )
        labels = np.array([indices[p.split("/")[0]] for p in paths], np.int32)
        splits[split] = FilesOfSplit(root, paths, labels)
    text = json.dumps({split: found[split] for split in sorted(found)})
    return ImageFolder(
        name=re.sub(r"\W+", "_", folder.resolve().name.lower()) or "folder",
        fingerprint=files.sha256(text.encode())[:8],
        classes=tuple(classes),
        class_names=class_names.read(folder, classes),
        splits=splits,
    )


def read(folder: Path, shape: shapes.Shape) -> cache.Arrays:
    """Decodes all images of a folder, or loads them from the cache.

    Args:
        folder: the folder; see `find`.
        shape: `(height, width, channels)` to which the images are adapted.

    Returns:
        Images and labels of each split, and `class_names`; see `splits.split`.

    Raises:
        NotFoundError: there is no such folder.
        DataError: images cannot be used; the message counts and names them.
        ResourceError: the images are too large for the memory.
    """
    found = find(folder, splits.NAMES)
    paths = [part.root / path for part in found.splits.values() for path in part.paths]
    shapes.check_size(len(paths), shape)

    def build() -> cache.Arrays:
        from elu_zoo.data import survey

        size = "x".join(map(str, shape))
        logging.info("Decoding %d images of %s to %s.", len(paths), folder, size)
        arrays: cache.Arrays = {}
        bad = []
        for name, part in found.splits.items():
            images = np.empty((len(part), *shape), np.uint8)
            each = survey.read_each(part, range(len(part)))
            for index, seen in enumerate(survey.look(each, shape)):
                if seen.pixels is None:
                    bad.append(seen)
                else:
                    images[index] = seen.pixels
            arrays[f"{name}_images"] = images
            arrays[f"{name}_labels"] = part.labels
        if bad:
            raise survey.refusal(bad, len(paths))
        return arrays

    key = f"{found.name}-{found.fingerprint}"
    arrays = cache.load_decoded(key, paths, shape, build)
    return {**arrays, "class_names": np.array(found.class_names)}


def _scan(root: Path) -> list[tuple[str, int]]:
    """Returns path and size of each image in the class folders, sorted by path."""
    found, ignored = [], []
    try:
        for folder in (entry for entry in _visible(root) if entry.is_dir()):
            before = len(found)
            for file in _visible(folder.path):
                path = f"{folder.name}/{file.name}"
                if file.name.lower().endswith(SUFFIXES):
                    found.append((path, file.stat().st_size))
                else:
                    ignored.append(path)
            if len(found) == before:
                logging.warning("%s holds no images: no class.", folder.path)
    except OSError as error:
        raise errors.DataError(
            f"Cannot read {error.filename or root}: {error.strerror}."
        ) from error
    if len(ignored) == 1:
        logging.info("%s/%s is no image: ignored.", root, ignored[0])
    elif ignored:
        logging.info(
            "%d files and folders in %s are no images, such as %s: ignored.",
            *(len(ignored), root, min(ignored)),
        )
    return sorted(found)


def _no_images(root: Path) -> errors.DataError:
    """Returns the error of a folder without images; it says what the folder holds."""

    def images(pattern: str) -> list[Path]:
        return [p for p in root.glob(pattern) if p.name.lower().endswith(SUFFIXES)]

    hint = ""
    if flat := images("*"):
        hint = f" {len(flat)} images lie in {root} itself, not in a folder of a class."
    elif deeper := images("*/*/*"):
        hint = f" Perhaps you mean {deeper[0].parents[1]}, whose folders hold images."
    elif others := {p.suffix for p in root.glob("*/*") if p.suffix and p.is_file()}:
        hint = f" Found are files {' '.join(sorted(others))}; convert images to PNG."
    return errors.DataError(
        f"{root} holds no images (PNG, JPEG) in folders of classes. {LAYOUT}" + hint
    )


def _visible(folder: str | os.PathLike) -> list[os.DirEntry]:
    with os.scandir(folder) as entries:
        return [entry for entry in entries if not entry.name.startswith(".")]
