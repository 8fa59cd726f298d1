"""Plain folders of image files, one folder a class: what is where, nothing is read."""

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
from elu_zoo.data.examples import Example
from elu_zoo.data.formats import SUFFIXES

CLASS_NAMES = "class_names.txt"
_READERS = 16  # files at once, which hides the latency of a network's disk
SPLITS = ("train", "validation")
LAYOUT = "Expected <class>/<file>.JPEG, or train/<class>/... and val/<class>/..."


@dataclasses.dataclass(frozen=True, eq=False)
class FilesOfSplit:
    """The files of one split.

    Args:
        root: the folder of the class folders.
        paths: of each file, relative to `root`.
        labels: int32 `(n,)`, of each file.
    """

    root: Path
    paths: tuple[str, ...]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, positions: Sequence[int]) -> list[Example]:
        """Returns these files; see `Examples`."""
        with ThreadPoolExecutor(_READERS) as pool:
            return list(pool.map(self._read, positions))

    def _read(self, position: int) -> Example:
        path = self.root / self.paths[position]
        try:
            return Example(str(path), path.read_bytes(), int(self.labels[position]))
        except OSError as error:
            raise errors.DataError(f"Cannot read {path}: {error.strerror}.") from error


@dataclasses.dataclass(frozen=True, eq=False)
class ImageFolder:
    """A folder of image files.

    Args:
        name: the folder's, in lower case letters, digits and underscores.
        fingerprint: of names and sizes of all files.
        classes: the name of each label's folder, sorted.
        class_names: of each label for people, where two may have one name.
        splits: "train", and "validation" where the folder has one.
    """

    name: str
    fingerprint: str
    classes: tuple[str, ...]
    class_names: tuple[str, ...]
    splits: dict[str, FilesOfSplit]


def find(folder: str | os.PathLike, names: Sequence[str] = SPLITS) -> ImageFolder:
    """Finds the images of `<folder>/<class>/<file>`.

    Labels number the folders that hold images by name. Of a folder that holds `train/`
    and `val/` (or `validation/`) these are the splits; else all images are one split. A
    file `class_names.txt`, `<class folder> <name>` a line, names classes for people.
    What is no image is ignored, and the log counts it.

    Args:
        folder: the folder.
        names: of the splits that are looked for, the first of them `train`.

    Raises:
        NotFoundError: there is no such folder.
        DataError: it holds no images, or its parts do not fit together or cannot be
            read.
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
        class_names=tuple(read_class_names(folder / CLASS_NAMES, classes)),
        splits=splits,
    )


def _scan(root: Path) -> list[tuple[str, int]]:
    """Returns path and size of each image of a folder's folders, sorted by path."""
    found, ignored = [], []
    try:
        for folder in (entry for entry in _visible(root) if entry.is_dir()):
            before = len(found)
            for file in _visible(folder.path):
                path = f"{folder.name}/{file.name}"
                if file.name.lower().endswith(SUFFIXES) and not file.is_dir():
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
    """Returns the error of a folder without images, with what it holds instead."""

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


def read_class_names(path: Path, classes: Sequence[str]) -> Sequence[str]:
    """Returns the name that a file gives each class, without a file the class itself.

    Args:
        path: a text file, `<class> <name>` a line, with a tab between them where a
            class has blanks; it may name more classes.
        classes: what is to be named.

    Raises:
        DataError: a class is missing in the file, a line has no name, or the file is
            no text.
    """
    if not path.is_file():
        return classes
    names = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except ValueError as error:
        raise errors.DataError(f"{path} is no text in UTF-8: {error}.") from error
    for number, line in enumerate(lines, 1):
        line = line.strip()
        parts = line.split("\t" if "\t" in line else None, maxsplit=1)
        if len(parts) == 1:
            raise errors.DataError(f"{path}, line {number}, gives {line!r} no name.")
        if parts:
            names[parts[0].strip()] = parts[1].strip()
    missing = [name for name in classes if name not in names]
    if missing:
        raise errors.DataError(
            f"{path} does not name {len(missing)} of {len(classes)} classes: "
            f"{', '.join(missing[:3])}."
        )
    return [names[name] for name in classes]
