"""Files of whitening statistics: one for each set of images, named by its hash.

`<images>_zca-<16 hexadecimal digits of its SHA-256>.npz` holds, in float16, the mean
and the upper triangle of the symmetric matrix. A file that ships with the package
stands beside the weights; others are in `$ELU_ZOO_HOME/statistics`.
"""

import dataclasses
import io
import re
import zipfile
from importlib import resources
from pathlib import Path

import numpy as np

from elu_zoo import errors, files

_NAME = re.compile(r"(?P<images>[\w-]+)_zca-(?P<sha16>[0-9a-f]{16})")


@dataclasses.dataclass(frozen=True, eq=False)
class Statistics:
    """What whitens a set of images.

    Args:
        mean: `(values,)`, after global contrast normalisation.
        matrix: symmetric, `(values, values)`.
    """

    mean: np.ndarray
    matrix: np.ndarray


def find(name: str) -> Path:
    """Returns the file of a name, or the one of a set of images.

    Args:
        name: `cifar100_zca-<hash>`, or `cifar100`; of several files of one set the
            one that ships with the package is taken.

    Raises:
        NotFoundError: there is none.
    """
    shipped = Path(str(resources.files("elu_zoo"))) / "weights"
    folders = shipped, files.home() / "statistics"
    pattern = f"{name}.npz" if _NAME.fullmatch(str(name)) else f"{name}_zca-*.npz"
    # A name is no path and has no wildcards.
    for folder in folders if re.fullmatch(r"[\w-]+", str(name)) else ():
        if found := sorted(folder.glob(pattern)):
            return found[0]
    known = sorted({p.stem for f in folders for p in f.glob("*_zca-*.npz")})
    sets = {stem.rpartition("_zca-")[0] for stem in known}
    raise errors.NotFoundError(
        f"There are no whitening statistics {name!r}. "
        f"{errors.did_you_mean(name, [*known, *sorted(sets)])}"
        f"Known: {', '.join(known) or 'none'}. Training on a data set fits them."
    )


def read(name: str) -> Statistics:
    """Reads a file, after checking its hash.

    Args:
        name: the file's name without its suffix.

    Raises:
        NotFoundError: there is no such file.
        CorruptError: its content is not what its name says.
    """
    path = find(name)
    content = path.read_bytes()
    matched = _NAME.fullmatch(path.stem)
    if not matched or files.sha256(content)[:16] != matched["sha16"]:
        raise errors.CorruptError(
            f"{path} is damaged: its SHA-256 is {files.sha256(content)[:16]}... Delete "
            "it and get it again."
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            mean = arrays["mean"].astype(np.float32)
            triangle = arrays["upper_triangle"]
        size = len(mean)
        if triangle.shape != (size * (size + 1) // 2,) or mean.shape != (size,):
            raise ValueError(f"its arrays are {mean.shape} and {triangle.shape}")
        if not (np.isfinite(mean).all() and np.isfinite(triangle).all()):
            raise ValueError("its values are not finite")
        matrix = np.zeros((size, size), np.float32)
        matrix[np.triu_indices(size)] = triangle
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise errors.CorruptError(f"{path} cannot be read: {error}.") from error
    matrix += np.triu(matrix, 1).T
    return Statistics(mean, matrix)


def write(folder: Path, images: str, statistics: Statistics) -> Path:
    """Writes a file and returns its path.

    Args:
        folder: where to.
        images: the name of the set of images.
        statistics: rounded to float16 here.
    """
    buffer = io.BytesIO()
    triangle = statistics.matrix[np.triu_indices(len(statistics.mean))]
    np.savez_compressed(
        buffer,
        mean=statistics.mean.astype(np.float16),
        upper_triangle=triangle.astype(np.float16),
    )
    content = buffer.getvalue()
    path = folder / f"{images}_zca-{files.sha256(content)[:16]}.npz"
    files.write_bytes(path, content)
    return path
