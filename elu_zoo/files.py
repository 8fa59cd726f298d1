"""File system: checked reads, atomic writes, hashes and locks."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from elu_zoo import errors

_MAX_BYTES = 1 << 31  # of a file that is read whole; the limit of protocol buffers
_SUFFIX = ".partial"  # of temporary names


def similar(path: Path) -> str:
    """Returns "Did you mean 'folder/x'? " for a file or folder beside a path, or ""."""
    folder, names = path.parent, []
    with contextlib.suppress(OSError):  # The folder may be missing or unreadable.
        names = [p.name for p in folder.iterdir() if p != path]
    return errors.did_you_mean(path.name, names, "" if folder == Path() else f"{folder}{os.sep}")


def home() -> Path:
    """Returns the cache folder: $ELU_ZOO_HOME, by default ~/.cache/elu_zoo."""
    return Path(os.environ.get("ELU_ZOO_HOME") or "~/.cache/elu_zoo").expanduser()


def check_writable(folder: Path, needed: int = 0) -> None:
    """Checks that a folder, which may not exist, is writable and has `needed` bytes free."""
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        problem = "not writable" if existing.is_dir() else "no folder"
        raise errors.ResourceError(f"{folder} cannot be used: {existing} is {problem}.")
    if (free := shutil.disk_usage(existing).free) < needed:
        raise errors.ResourceError(
            f"The disk of {folder} has {free} bytes free; {needed} are needed. "
            "Free disk space, or pass another folder ($ELU_ZOO_HOME is the cache)."
        )


def open_regular(path: Path) -> BinaryIO:
    """Opens a regular file, and never waits for the writer of a named pipe."""
    mode = path.stat().st_mode  # before `open`, which may change the state of a device
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a named pipe, a socket or a device"
        raise errors.CorruptError(f"is not a regular file: it is {kind}")
    # O_NONBLOCK, because the path may have become a named pipe since the check.
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")


def read_regular(path: Path, limit: int, what: str) -> bytes:
    """Returns the content of a regular file of at most `limit` bytes; `what` names its kind."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise errors.CorruptError(f"is {size} bytes; {what} has at most {limit}")
        return file.read(size)


def read(path: Path, limit: int = _MAX_BYTES) -> bytes:
    """Returns a regular file's content; `CorruptError` for other and larger files."""
    try:
        return read_regular(path, limit, "such a file")
    except errors.CorruptError as error:
        raise errors.CorruptError(f"{path} {error}. Restore or delete it.") from None


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file; `CorruptError` for other files, see `read`."""
    value = _parsed(read(path), path)
    if not isinstance(value, dict):
        raise errors.CorruptError(f"{path} is damaged: no JSON object. Restore or delete it.")
    return value


def read_rows(path: Path) -> list[Any]:
    """Returns the values in the complete lines of a file of JSON lines, see `read`."""
    # A killed process may have written a part of the last line.
    lines = read(path).splitlines(keepends=True)
    return [_parsed(line, path) for line in lines if line.endswith(b"\n")]


def _parsed(text: bytes, path: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: deeply nested
        raise errors.CorruptError(f"{path} is damaged: {error}. Restore or delete it.") from None


def sha256(data: bytes | Path) -> str:
    """Returns the SHA-256 of bytes, or of a file's content, in hexadecimal."""
    content = data.read_bytes() if isinstance(data, Path) else data
    return hashlib.sha256(content).hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Yields a temporary file that replaces `path`, at once, when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(_SUFFIX, f".{path.name}.", path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync(path.parent)


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file atomically, see `new_file`."""
    with new_file(path) as file:
        file.write(content)


def write_json(path: Path, value: Any) -> None:
    """Writes `value` as indented JSON, atomically."""
    text = json.dumps(value, indent=2, sort_keys=True, allow_nan=False)
    write_bytes(path, (text + "\n").encode())


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Yields a temporary folder that becomes `path`, flushed, when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(_SUFFIX, f".{path.name}.", path.parent))
    try:
        yield temporary
        for folder, _, names in os.walk(temporary):
            for name in names:
                _sync(Path(folder) / name)
            _sync(Path(folder))
        os.chmod(temporary, 0o755)
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _sync(path.parent)


def remove_leftovers(folder: Path) -> None:
    """Removes files of killed writers; no process may be writing to the folder."""
    for path in folder.glob(f".*.????????{_SUFFIX}"):  # names of `new_file`
        if path.is_file():
            path.unlink()


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Holds the lock of a file or folder; yields False if it is held or the disk has no locks."""
    is_locked = False
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            # NFS locks only files that are open for writing.
            descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            is_locked = True
        yield is_locked


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds the lock of the file `path`, with the owner's name, until the block ends."""
    check_writable(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with locked(path, wait=False) as is_locked:
        if not is_locked:
            raise errors.ResourceError(
                f"{path.parent} is in use by {path.read_text() or 'another process'}, or its disk "
                "has no locks. Wait until that process ends, stop it, or pass another folder."
            )
        path.write_text(f"process {os.getpid()} on {os.uname().nodename}")
        yield
