"""Cache of decoded arrays, so that a second load needs neither TFDS nor TensorFlow.

An entry is an .npz file without pickled objects in `$ELU_ZOO_HOME/data`; its zip format
holds a checksum of each array.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from absl import logging

from elu_zoo import files

# Version of the readers of a user's images. The name of an entry contains it, so that
# arrays of another version are not read.
_DECODER = "decoder3"

Arrays = dict[str, np.ndarray]


def load(
    name: str,
    sources: Iterable[Path],
    build: Callable[[], Arrays],
    shape: tuple[int, ...] | None = None,
) -> Arrays:
    """Returns the arrays of an entry, after building and storing a missing entry.

    Args:
        name: the start of the entry's file name, which contains a version.
        sources: the files that `build` reads, whose names and sizes identify the entry.
        build: function that returns the arrays.
        shape: for a user's images, the shape to which they are decoded, `()` for that of
            the stored images. The entry then also depends on the decoder, and on the
            times at which the files were written: other pixels may have the same size.
    """
    sources = sorted(sources)
    if shape is not None:
        times = repr([path.stat().st_mtime_ns for path in sources])
        written = files.sha256(times.encode())[:8]
        name = f"{name}-{written}-{'x'.join(map(str, shape))}-{_DECODER}"
    names_and_sizes = sorted((path.name, path.stat().st_size) for path in sources)
    fingerprint = files.sha256(json.dumps(names_and_sizes).encode())[:16]
    path = files.home() / "data" / f"{name}-{fingerprint}.npz"
    if arrays := _read(path):
        return arrays
    arrays = build()
    try:
        with files.new_file(path) as file:
            np.savez(file, **arrays)
    except OSError as error:
        logging.warning("Decoded arrays are not cached at %s: %s", path, error)
    return arrays


def newest(pattern: str) -> Arrays | None:
    """Returns the arrays of the newest undamaged entry whose name in `load` matches, or None."""
    paths = (files.home() / "data").glob(f"{pattern}-*.npz")
    newest_first = sorted(paths, key=lambda p: p.stat().st_mtime, reverse=True)
    return next(filter(None, map(_read, newest_first)), None)


def _read(path: Path) -> Arrays | None:
    """Returns the arrays of a file, or None if the file is missing or damaged."""
    try:
        with files.open_regular(path) as file, np.load(file, allow_pickle=False) as stored:
            return dict(stored)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except MemoryError:
        raise
    except Exception as error:  # zipfile raises errors of many types
        logging.warning("%s is damaged: %s.", path, error)
        return None
