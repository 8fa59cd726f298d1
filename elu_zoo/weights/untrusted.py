"""Reading of untrusted files; opening never waits, not even for a named pipe."""

from pathlib import Path

from elu_zoo import errors, files


def read(path: Path, limit: int, what: str) -> bytes:
    """Returns a file's content, see `files.read_regular`, with errors that name the file."""
    try:
        return files.read_regular(path, limit, what)
    except OSError as error:
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from None
    except errors.CorruptError as error:
        raise errors.CorruptError(f"{path} {error}.") from None


def check_hash(content: bytes | Path, sha256: str, name: object) -> None:
    """Raises `CorruptError` unless the SHA-256 of a file begins with `sha256`."""
    if not (actual := files.sha256(content)).startswith(sha256):
        if isinstance(name, Path) and name.is_symlink():
            name = name.resolve()  # huggingface_hub would link the same file again
        raise errors.CorruptError(
            f"{name} is damaged or another file: its SHA-256 is {actual}, expected {sha256}. "
            "Delete it; then run the command of its training again, install elu-zoo again, or load "
            "the published weights again."
        )
