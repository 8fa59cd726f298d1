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
from elu_zoo.data import cache, class_names, shapes
from elu_zoo.data.dataset import SPLITS
from elu_zoo.data.encoded import EncodedImages, Example
from elu_zoo.data.formats import MAX_BYTES, SUFFIXES

_READERS = 16  # files that are read in parallel, to hide the latency of a network disk
# Names of the folder of each split, in lower case.
_SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "val", "valid"),
    "test": ("test", "testing"),
}
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

    The label of a class is its position in the sorted list of folders that hold images.
    If `folder` has a subfolder `train/` of class folders, the splits are `train/` and
    `val/` (also `validation/` or `valid/`), in any case. Otherwise all images are the
    training split. A file `class_names.txt` may hold display names, see
    `class_names.read`. A file is an image if its name ends in one of
    `formats.SUFFIXES`; a warning lists images and folders that are not read. The
    fingerprint is a hash of the names and sizes of all images.

    Args:
        folder: the folder.
        names: names of the splits to look for; the first is "train".
    """
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise errors.NotFoundError(f"There is no folder {folder}.")
    try:
        roots = _roots(folder, names)
        scanned = {split: _scan(root) for split, root in roots.items()}
    except OSError as error:
        raise errors.DataError(
            f"Cannot read {error.filename or folder}: {error.strerror}."
        ) from error
    for split, root in roots.items():
        if not scanned[split]:
            raise _no_images_error(root)
    classes = sorted({path.split("/")[0] for path, _ in scanned["train"]})
    if unreadable := [x for x in classes if not x.isprintable()]:
        raise errors.DataError(f"Rename the class folder {unreadable[0]!r} in {roots['train']}.")
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
    """Returns the folder of each split; without classes in train/, all folders are classes."""
    folders = _folders(folder)
    named = {split: [x for x in folders if x.name.lower() in _SPLITS[split]] for split in names}
    for split, several in named.items():
        if len(several) > 1:
            raise errors.DataError(
                f"{folder} has several folders of {split} images, {_listed(several)}. "
                "Move the class folders of one into the other."
            )
    roots = {split: found[0] for split, found in named.items() if found}
    if "train" in roots and any(map(_has_images, _folders(roots["train"]))):
        if others := [x for x in folders if x not in roots.values()]:
            logging.warning(
                "These folders in %s are not read, because %s holds class folders: %s.",
                folder,
                roots["train"].name,
                _listed(others),
            )
        return roots
    flat = [x for x in folders if _has_images(x)]
    if flat and all(x.name.lower() in sum(_SPLITS.values(), ()) for x in flat):
        raise errors.DataError(
            f"{folder} has images only in folders that are named like splits but hold "
            f"no class folders: {_listed(flat)}. Move the images to {flat[0]}/<class>."
        )
    return {"train": folder}


def _label_files(root: Path, paths: Sequence[str], classes: Sequence[str]) -> FilesOfSplit:
    """Returns the files of a split with their labels."""
    names = [path.split("/")[0] for path in paths]
    unknown = sorted({*names} - {*classes})
    if unknown:
        raise errors.DataError(
            f"{root} has {len(unknown)} classes that the training split does not have: "
            f"{errors.listed(unknown)}. {errors.did_you_mean(unknown[0], classes)}"
            "Add training images of these classes, or remove their folders."
        )
    labels = {name: label for label, name in enumerate(classes)}
    return FilesOfSplit(root, tuple(paths), np.array([labels[name] for name in names], np.int32))


def read(folder: Path, shape: shapes.Shape) -> cache.Arrays:
    """Returns the arrays for `splits.split` of a folder's images, adapted to a shape."""
    source = find(folder, SPLITS)
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
            decoded = decoding.decode_all(part, range(len(part)), shape)
            for index, image in enumerate(decoded):
                if image.problem:
                    bad.append(image.problem)
                else:
                    images[index] = image.pixels
            arrays[f"{name}_images"] = images
            arrays[f"{name}_labels"] = part.labels
        if bad:
            raise decoding.unusable_error(bad, len(paths))
        return arrays

    key = f"{source.name}-{source.fingerprint}"
    arrays = cache.load(key, paths, build, shape)
    for split, part in source.splits.items():
        arrays[f"{split}_paths"] = np.array([str(part.root / x) for x in part.paths])
    return {**arrays, "class_names": np.array(source.class_names)}


def _scan(root: Path) -> list[tuple[str, int]]:
    """Returns path and size of each image in the class folders, sorted by path."""
    images = []
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
    if images and unread:
        listed = errors.listed(sorted(unread))
        logging.warning("Not read in %s: %s. %s", root, listed, LAYOUT)
    return sorted(images)


def _visible(folder: Path) -> list[os.DirEntry]:
    with os.scandir(folder) as entries:
        return [entry for entry in entries if not entry.name.startswith(".")]


def _folders(folder: Path) -> list[Path]:
    return sorted(folder / entry.name for entry in _visible(folder) if entry.is_dir())


def _has_images(folder: Path) -> bool:
    return any(x.name.lower().endswith(SUFFIXES) for x in _visible(folder))


def _listed(folders: Sequence[Path]) -> str:
    return errors.listed([x.name for x in folders])


def _no_images_error(root: Path) -> errors.DataError:
    """Returns an error that says where a folder holds images instead."""
    nested = [x for x in root.glob("*/*/*") if x.name.lower().endswith(SUFFIXES)]
    hint = ""
    if _has_images(root):
        hint = f" Move the images in {root} itself into class folders."
    elif nested:
        hint = f" Perhaps you mean {min(x.parents[1] for x in nested)}."
    return errors.DataError(f"{root} holds no images (PNG, JPEG) in class folders. {LAYOUT}{hint}")
