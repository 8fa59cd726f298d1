"""Reading of files that somebody else may have written.

The content comes from one file descriptor, so that nobody can put another file in the
place of the one that was checked; opening it never waits.
"""

import os
import stat
from pathlib import Path

from elu_zoo import errors

_KINDS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}


def read(path: Path, limit: int, what: str) -> bytes:
    """Returns the content of a regular file.

    Args:
        path: of the file, or of a link to one in the same folder.
        limit: the largest size, in bytes.
        what: the kind of file, for messages: "a weight file of this network".

    Raises:
        FileNotFoundError: there is no such file.
        CorruptError: the file is not a regular one, too large, or in another folder.
        ResourceError: the file cannot be read.
    """
    try:
        target = path.resolve(strict=True)
        if target.parent != path.parent.resolve():
            raise errors.CorruptError(
                f"{path} is a link out of its folder, to {target}. Name that file "
                "itself."
            )
        check_regular(path)
        # O_NONBLOCK: a named pipe must not make us wait for a writer.
        flags = "O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"
        others = sum(getattr(os, flag, 0) for flag in flags)
        descriptor = os.open(target, os.O_RDONLY | others)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(str(error)) from None
    except (OSError, RuntimeError) as error:  # RuntimeError: a link to itself
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from None
    try:
        status = os.fstat(descriptor)
        _check_mode(status.st_mode, path)
        _check_size(status.st_size, limit, path, what)
    except BaseException:
        os.close(descriptor)
        raise
    try:
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from None
    _check_size(len(content), limit, path, what)  # the file may have grown since
    return content


def check_regular(path: Path) -> None:
    """Checks that a path is a regular file, without opening it.

    Raises:
        OSError: there is nothing at this path.
        CorruptError: it is a folder, a device, ...
    """
    _check_mode(path.stat().st_mode, path)


def _check_mode(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        kind = next((k for is_, k in _KINDS.items() if is_(mode)), "special")
        raise errors.CorruptError(f"{path} is not a regular file: it is {kind}.")


def _check_size(size: int, limit: int, path: Path, what: str) -> None:
    if size > limit:
        raise errors.CorruptError(
            f"{path} is {size} bytes; {what} has at most {limit}."
        )


def printable(text: str, length: int = 100) -> str:
    """Returns a text from a file without control characters, cut to a length."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return shown if len(shown) <= length else shown[:length] + "..."
