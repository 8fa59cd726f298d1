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
from elu_zoo.data import cache, class_names, shapes, splits
from elu_zoo.data.encoded import EncodedImages, Example, UnusableFileError
from elu_zoo.data.formats import MAX_BYTES, SUFFIXES

_READERS = 16  # files that are read in parallel, to hide the latency of a network disk
_VALIDATION = "validation", "val", "valid"  # names of the folder of the split
LAYOUT = "Expected <class>/<file>.JPEG, or train/<class>/... and val/<class>/..."


@dataclasses.dataclass(frozen=True, eq=False)
class FilesOfSplit:
    """The image files of one split; an `encoded.Examples`.

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
            content = files.read_regular(path, MAX_BYTES, "an image file")
            return Example(str(path), content, label)
        except errors.CorruptError as error:
            raise UnusableFileError(str(path), label, str(error)) from None
        except OSError as error:
            raise errors.DataError(f"Cannot read {path}: {error.strerror}.") from error


def find(
    folder: str | os.PathLike, names: Sequence[str] = ("train", "validation")
) -> EncodedImages:
    """Finds the images `<folder>/<class>/<file>`.

    The label of a class is its position in the sorted list of folders that hold images.
    If `folder` has a subfolder `train/`, the splits are `train/` and `val/` (also
    `validation/` or `valid/`). Otherwise all images are the training split. A file
    `class_names.txt` may hold display names, see `class_names.read`. A file is an image
    if its name ends in one of `formats.SUFFIXES`. Other files are ignored and counted
    in the log, which also warns of folders that are not read. The fingerprint is a hash
    of the names and sizes of all images.

    Args:
        folder: the folder.
        names: names of the splits to look for; the first is "train".

    Raises:
        NotFoundError: `folder` does not exist.
        DataError: the folder holds no images or cannot be read, has several folders
            of validation images, or has a class whose name is not UTF-8 or that the
            training split lacks.
    """
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise errors.NotFoundError(f"There is no folder {folder}.")
    roots = _roots(folder, names)
    scanned = {split: _scan(root) for split, root in roots.items()}
    classes = sorted({path.split("/")[0] for path, _ in scanned["train"]})
    for name in classes:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise errors.DataError(
                f"The name of the class folder {os.fsencode(name)!r} in "
                f"{roots['train']} is not UTF-8. Rename the folder."
            ) from None
    labelled = {
        split: _label_files(root, [path for path, _ in scanned[split]], classes)
        for split, root in roots.items()
    }
    text = json.dumps({split: scanned[split] for split in sorted(scanned)})
    return EncodedImages(
        name=re.sub(r"\W+", "_", folder.resolve().name.lower()) or "folder",
        fingerprint=files.sha256(text.encode())[:8],
        classes=tuple(classes),
        class_names=class_names.read(folder, classes),
        splits=labelled,
    )


def _roots(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Returns the folder of each split, for the splits that `folder` has."""
    train = folder / "train"
    if not train.is_dir():
        return {"train": folder}
    roots = {"train": train}
    for split in names[1:]:
        aliases = _VALIDATION if split == "validation" else (split,)
        found = [name for name in aliases if (folder / name).is_dir()]
        if len(found) > 1:
            raise errors.DataError(
                f"{folder} has several folders of validation images, "
                f"{' and '.join(found)}. Move the images of one into the other."
            )
        for name in found:
            roots[split] = folder / name
    read = {root.name for root in roots.values()}
    others = [x.name for x in _visible(folder) if x.is_dir() and x.name not in read]
    if others:
        logging.warning(
            "These folders in %s are not read: %s.", folder, ", ".join(sorted(others))
        )
    return roots


def _label_files(
    root: Path, paths: Sequence[str], classes: Sequence[str]
) -> FilesOfSplit:
    """Returns the files of a split with their labels."""
    if not paths:
        raise _no_images_error(root)
    labels = {name: label for label, name in enumerate(classes)}
    for path in paths:
        if path.split("/")[0] not in labels:
            raise errors.DataError(
                f"{root / path} has a class that the training split does not have."
            )
    label_of_path = np.array([labels[path.split("/")[0]] for path in paths], np.int32)
    return FilesOfSplit(root, tuple(paths), label_of_path)


def read(folder: Path, shape: shapes.Shape) -> cache.Arrays:
    """Decodes all images of a folder, or loads them from the cache.

    Args:
        folder: the folder; see `find`.
        shape: `(height, width, channels)` to which the images are adapted.

    Returns:
        Images and labels of each split, and `class_names`; see `splits.split`.

    Raises:
        NotFoundError: `folder` does not exist.
        DataError: images cannot be used. The message counts and names these images.
        ResourceError: the images are too large for the memory.
    """
    source = find(folder, splits.NAMES)
    paths = [part.root / path for part in source.splits.values() for path in part.paths]
    shapes.check_memory(len(paths), shape)

    def build() -> cache.Arrays:
        from elu_zoo.data import decoding

        size = "x".join(map(str, shape))
        logging.info("Decoding %d images of %s to %s.", len(paths), folder, size)
        arrays: cache.Arrays = {}
        bad = []
        for name, part in source.splits.items():
            images = np.empty((len(part), *shape), np.uint8)
            readers = decoding.readers(part, range(len(part)))
            for index, decoded in enumerate(decoding.decode_all(readers, shape)):
                if decoded.problem:
                    bad.append(decoded)
                else:
                    images[index] = decoded.pixels
            arrays[f"{name}_images"] = images
            arrays[f"{name}_labels"] = part.labels
        if bad:
            raise decoding.unusable_error(bad, len(paths))
        return arrays

    key = f"{source.name}-{source.fingerprint}"
    arrays = cache.load_decoded(key, paths, shape, build)
    return {**arrays, "class_names": np.array(source.class_names)}


def _scan(root: Path) -> list[tuple[str, int]]:
    """Returns path and size of each image in the class folders, sorted by path."""
    images, ignored, nested = [], [], []
    try:
        for folder in (entry for entry in _visible(root) if entry.is_dir()):
            before = len(images)
            for file in _visible(folder.path):
                path = f"{folder.name}/{file.name}"
                if file.name.lower().endswith(SUFFIXES):
                    images.append((path, file.stat().st_size))
                else:
                    (nested if file.is_dir() else ignored).append(path)
            if len(images) == before:
                logging.warning("%s holds no images and is not a class.", folder.path)
    except OSError as error:
        raise errors.DataError(
            f"Cannot read {error.filename or root}: {error.strerror}."
        ) from error
    if nested:
        logging.warning(
            "%d folders inside class folders of %s are not read, such as %s. Move "
            "their images into the class folders.",
            *(len(nested), root, min(nested)),
        )
    if ignored:
        logging.info(
            "Ignored %d files in %s that are not images, such as %s.",
            *(len(ignored), root, min(ignored)),
        )
    return sorted(images)


def _visible(folder: str | os.PathLike) -> list[os.DirEntry]:
    with os.scandir(folder) as entries:
        return [entry for entry in entries if not entry.name.startswith(".")]


def _no_images_error(root: Path) -> errors.DataError:
    """Returns an error that says what a folder holds instead of images in classes."""

    def images(pattern: str) -> list[Path]:
        return [p for p in root.glob(pattern) if p.name.lower().endswith(SUFFIXES)]

    hint = ""
    if flat := images("*"):
        hint = f" {len(flat)} images are in {root} itself, not in a class folder."
    elif deeper := images("*/*/*"):
        hint = f" Perhaps you mean {deeper[0].parents[1]}, whose folders hold images."
    elif others := {p.suffix for p in root.glob("*/*") if p.suffix and p.is_file()}:
        hint = f" It holds {' '.join(sorted(others))} files. Convert images to PNG."
    return errors.DataError(
        f"{root} holds no images (PNG, JPEG) in class folders. {LAYOUT}{hint}"
    )
