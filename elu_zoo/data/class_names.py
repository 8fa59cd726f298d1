"""Display names of classes, from a file in the folder of the images."""

from collections.abc import Sequence
from pathlib import Path

from elu_zoo import errors, files

FILE = "class_names.txt"
_MAX_BYTES = 2**24


def read(folder: Path, classes: Sequence[str]) -> tuple[str, ...]:
    """Returns the display name of each class, from the file `FILE` in a folder.

    A line of the file is `<class> <name>`, with a tab between class and name if the
    class contains blanks. Lines for other classes are ignored. Without a file, the
    class is the display name.

    Raises:
        DataError: the file has no line for a class, has a line without a name, or is
            not a regular text file of at most 16 MiB.
    """
    path = folder / FILE
    try:
        content = files.read_regular(path, _MAX_BYTES, "a file of class names")
        lines = content.decode().splitlines()
    except FileNotFoundError:
        return tuple(classes)
    except errors.CorruptError as error:
        raise errors.DataError(f"{path} {error}.") from None
    except ValueError as error:
        raise errors.DataError(f"{path} is not UTF-8 text: {error}.") from error
    names = {}
    for number, line in enumerate(lines, 1):
        line = line.strip()
        parts = line.split("\t" if "\t" in line else None, maxsplit=1)
        if len(parts) == 1:
            raise errors.DataError(f"{path}, line {number}, has no name for {line!r}.")
        if parts:
            names[parts[0].strip()] = parts[1].strip()
    missing = [name for name in classes if name not in names]
    if missing:
        raise errors.DataError(
            f"{path} has no line for {len(missing)} of {len(classes)} classes: "
            f"{', '.join(missing[:3])}."
        )
    return tuple(names[name] for name in classes)
