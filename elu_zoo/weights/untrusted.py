"""Reading of untrusted files.

The checks and the read use one file descriptor, so that another process cannot replace
the file after the checks. Opening never blocks, not even for a named pipe.
"""

from pathlib import Path

from elu_zoo import errors, files


def read(path: Path, limit: int, what: str) -> bytes:
    """Returns the content of a regular file, or of a link in the file's folder.

    It has at most `limit` bytes. `what` is the kind of file, for messages: "an entry".
    """
    try:
        target = path.resolve(strict=True)
        if target.parent != path.parent.resolve():
            raise errors.CorruptError(
                f"is a link out of its folder, to {target}. Replace the link by a copy "
                "of the file, for example with cp -rL"
            )
        return files.read_regular(target, limit, what, follow_links=False)
    except (OSError, RuntimeError) as error:  # RuntimeError for a link to itself
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from None
    except errors.CorruptError as error:
        raise errors.CorruptError(f"{path} {error}.") from None


def check_hash(content: bytes | Path, sha256: str, name: object) -> None:
    """Raises `CorruptError` unless the SHA-256 of a file begins with `sha256`."""
    if not (actual := files.sha256(content)).startswith(sha256):
        raise errors.CorruptError(
            f"{name} is damaged or another file: its SHA-256 is {actual}, expected {sha256}. "
            "Delete the file and download it again, or install elu-zoo again; published weights "
            "are downloaded by their next use."
        )


def printable(text: str, length: int = 100) -> str:
    """Returns a text without control characters, shortened to a length."""
    shown = errors.printable(text)
    return shown if len(shown) <= length else shown[:length] + "..."
