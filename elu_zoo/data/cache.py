"""Cache of decoded arrays, so that a second load needs neither TFDS nor TensorFlow.

An entry is an .npz file without pickled objects in `$ELU_ZOO_HOME/data`. A second file
beside the entry holds its SHA-256 in the format of `sha256sum -c`.
"""

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from absl import logging

from elu_zoo import errors, files

# Version of `images.decode`. The name of an entry contains the version, so that arrays
# of another version are not read.
_DECODER = "decoder2"

Arrays = dict[str, np.ndarray]


def load(name: str, sources: Iterable[Path], build: Callable[[], Arrays]) -> Arrays:
    """Returns the arrays of an entry, after building and storing a missing entry.

    A damaged entry is built again. If the cache cannot be written, every load builds
    the arrays. Both cases are logged as warnings.

    Args:
        name: the start of the entry's file name, which contains a version.
        sources: the files that `build` reads, whose names and sizes identify the entry.
        build: function that returns the arrays.
    """
    names_and_sizes = sorted((path.name, path.stat().st_size) for path in sources)
    fingerprint = files.sha256(json.dumps(names_and_sizes).encode())[:16]
    path = files.home() / "data" / f"{name}-{fingerprint}.npz"
    if arrays := _verified(path):
        return arrays
    arrays = build()
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    content = buffer.getvalue()
    try:
        # With the hash written first, a reader between the writes finds no entry.
        files.write_bytes(_sha256_path(path), _sha256_line(path, content))
        files.write_bytes(path, content)
    except OSError as error:
        logging.warning("Decoded arrays are not cached at %s: %s", path, error)
    return arrays


def load_decoded(
    name: str, sources: Iterable[Path], shape: tuple[int, ...], build: Callable[[], Arrays]
) -> Arrays:
    """Returns the arrays of a user's images, decoded to a shape; see `load`.

    The entry also depends on the shape, the version of the decoder and the times at
    which the files were written, because a file with other pixels may have the same
    name and size. The shape `()` stands for the shape of the stored images.
    """
    sources = sorted(sources)
    times = repr([path.stat().st_mtime_ns for path in sources])
    written = files.sha256(times.encode())[:8]
    size = "x".join(map(str, shape))
    return load(f"{name}-{written}-{size}-{_DECODER}", sources, build)


def newest(pattern: str) -> Arrays | None:
    """Returns the arrays of the newest undamaged entry, or None without such an entry.

    Args:
        pattern: shell wildcards that match the `name` that was passed to `load`.
    """
    paths = (files.home() / "data").glob(f"{pattern}-*.npz")
    for path in sorted(paths, key=lambda p: p.stat().st_mtime, reverse=True):
        if arrays := _verified(path):
            return arrays
    return None


def _verified(path: Path) -> Arrays | None:
    """Returns the arrays of a file, or None if the file is missing or damaged."""
    content = _read(path)
    if not content:
        return None
    if _sha256_line(path, content) != _read(_sha256_path(path)):
        logging.warning("%s is damaged (its SHA-256 differs).", path)
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return dict(stored)


def _sha256_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sha256_line(path: Path, content: bytes) -> bytes:
    return f"{files.sha256(content)}  {path.name}\n".encode()


def _read(path: Path) -> bytes:
    try:
        return files.read(path)
    except (OSError, errors.CorruptError):
        return b""
