"""Reading of untrusted files.

The checks and the read use one file descriptor, so that another process cannot replace
the file after the checks. Opening never blocks, not even for a named pipe.
"""

from pathlib import Path

from elu_zoo import errors, files


def read(path: Path, limit: int, what: str, magic: bytes = b"") -> bytes:
    """Returns the content of a regular file, or of a link in the file's folder.

    Args:
        path: the path of the file.
        limit: the largest size in bytes.
        what: the kind of file, for messages, such as "a weight file of this network".
        magic: the first bytes; of a file with other ones, only these are read.
    """
    try:
        target = path.resolve(strict=True)
        if target.parent != path.parent.resolve():
            raise errors.CorruptError(
                f"is a link out of its folder, to {target}. Replace the link by a copy "
                "of the file, for example with cp -rL"
            )
        return files.read_regular(target, limit, what, follow_links=False, magic=magic)
    except (OSError, RuntimeError) as error:  # RuntimeError for a link to itself
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from None
    except errors.CorruptError as error:
        raise errors.CorruptError(f"{path} {error}.") from None


def printable(text: str, length: int = 100) -> str:
    """Returns a text without control characters, shortened to a length."""
    shown = errors.printable(text)
    return shown if len(shown) <= length else shown[:length] + "..."
