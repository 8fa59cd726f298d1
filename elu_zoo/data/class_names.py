"""Names of classes for people, from a file beside the images."""

from collections.abc import Sequence
from pathlib import Path

from elu_zoo import errors, files

FILE = "class_names.txt"
_MOST_BYTES = 2**24


def read(folder: Path, classes: Sequence[str]) -> tuple[str, ...]:
    """Returns the name that the file `FILE` gives each class.

    A line of the file is `<class> <name>`, with a tab between them where a class has
    blanks; it may name more classes. Without a file a class is its own name.

    Args:
        folder: the folder of the file.
        classes: the classes to be named.

    Raises:
        DataError: a class is missing in the file, a line has no name, or the file is
            no text, no regular file or larger than 16 MiB.
    """
    path = folder / FILE
    names = {}
    try:
        content = files.read_regular(path, _MOST_BYTES, "a file of class names")
        lines = content.decode().splitlines()
    except FileNotFoundError:
        return tuple(classes)
    except errors.CorruptError as error:
        raise errors.DataError(f"{path} {error}.") from None
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
    return tuple(names[name] for name in classes)
