"""Names of classes: from a file in the folder of the images, and matched by name."""

import dataclasses
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from absl import logging

from elu_zoo import errors, files
from elu_zoo.data.dataset import SPLITS, ImageData

FILE = "class_names.txt"
_MAX_BYTES = 2**24


def read(folder: Path, classes: Sequence[str]) -> tuple[str, ...]:
    """Returns the display name of each class, from the file `FILE` in a folder.

    A line of the file is `<class> <name>`, with a tab between class and name if the class contains
    blanks. Lines for other classes are ignored. Without a file, the class is the display name.
    """
    path = folder / FILE
    try:
        content = files.read_regular(path, _MAX_BYTES, "a file of class names")
        lines = content.decode("utf-8-sig").splitlines()
    except FileNotFoundError:
        return tuple(classes)
    except errors.CorruptError as error:
        raise errors.DataError(f"{path} {error}.") from None
    except ValueError as error:
        raise errors.DataError(f"{path}: {error}. Save the file as UTF-8.") from error
    names = {}
    for number, line in enumerate(lines, 1):
        line = line.strip()
        parts = line.split("\t" if "\t" in line else None, maxsplit=1)
        if len(parts) == 1:
            raise errors.DataError(f"{path}, line {number}, has no name for {line!r}.")
        if parts:
            names[normal(parts[0].strip())] = parts[1].strip()
    missing = [name for name in classes if normal(name) not in names]
    if missing:
        count, listed = f"{len(missing)} of {len(classes)} classes", errors.listed(missing)
        raise errors.DataError(f"{path} has no line `class<tab>name` for {count}: {listed}.")
    return tuple(names[normal(name)] for name in classes)


def normal(name: str) -> str:
    """Returns a name in Unicode's form NFC; macOS writes names of files in NFD."""
    return unicodedata.normalize("NFC", name)


def matched(data: ImageData, owner: str, classes: Sequence[str], count: int) -> ImageData:
    """Returns a data set whose labels are a model's classes, matched by name.

    Args:
        data: the data set, which may lack some of the classes.
        owner: the name of the model, for messages.
        classes, count: names of the model's classes, empty if unknown, and their number.
    """
    if not classes:
        return _in_order(data, owner, count)
    if list(data.class_names) == list(classes):
        return data
    if not data.is_named:
        raise errors.UsageError(
            f"{data.name} has only the numbers of its classes, {errors.listed(data.class_names)}, "
            f"and {owner} has the classes {errors.listed(classes)}. Add class_names to it."
        )
    names, known = ([normal(x) for x in each] for each in (data.class_names, classes))
    parts: dict = {name: data.split(name) for name in SPLITS}
    # Labels of images that stay on the disk may be unknown.
    used = {i for x in parts.values() for i in getattr(x, "labels", range(len(names)))}
    present = [names[label] for label in sorted(used)]
    unknown = [x for x in present if not names.count(x) == known.count(x) == 1]
    if unknown:
        raise errors.UsageError(
            f"{len(unknown)} of the {len(present)} classes of the data set {data.name} match no or "
            f"several classes of {owner}: {errors.listed(unknown)}. {owner} has {count} classes, "
            f"{errors.listed(classes)}. {errors.did_you_mean(unknown[0], classes)}"
            "Rename or remove these classes of the data (for a folder, copy class_names.txt of the "
            "training), or pass other weights."
        )
    labels = np.array([known.index(x) if x in known else -1 for x in names], np.int32)
    parts = {name: part.relabelled(labels) for name, part in parts.items()}
    return dataclasses.replace(data, **parts, class_names=tuple(classes))


def _in_order(data: ImageData, owner: str, count: int) -> ImageData:
    """Returns a data set for a model that has no names of classes, after a warning."""
    if data.num_classes != count:
        raise errors.UsageError(
            f"{owner} has {count} classes without names, but the data set {data.name} has "
            f"{data.num_classes}: {errors.listed(data.class_names)}. Pass images of all its "
            "classes, in the order of its training."
        )
    logging.warning(
        f"{owner} has no names of classes. Its classes 0, 1, ... are taken as "
        f"{errors.listed(data.class_names)}, in this order."
    )
    return data
