"""Statistics files: the mean image or the whitening matrix of a set of images.

`<images>_zca-<first 16 hexadecimal digits of the SHA-256>.npz` holds whitening
statistics in float16: the mean and the upper triangle of the symmetric matrix.
`<images>_mean-<digits>.npz` holds a mean image in float32. Files that ship with the
package are in `elu_zoo/weights`; other files are in `$ELU_ZOO_HOME/statistics`.
"""

import dataclasses
import io
import re
import zipfile
from importlib import resources
from pathlib import Path

import numpy as np

from elu_zoo import errors, files

_NAME = re.compile(r"(?P<images>[\w-]+)_(?P<kind>zca|mean)-(?P<sha16>[0-9a-f]{16})")
_NONE = {"zca": "There are no whitening statistics", "mean": "There is no mean image"}


@dataclasses.dataclass(frozen=True, eq=False)
class Statistics:
    """Whitening statistics of a set of images.

    Attributes:
        mean: `(values,)`, after global contrast normalisation.
        matrix: symmetric, `(values, values)`.
    """

    mean: np.ndarray
    matrix: np.ndarray


def find(name: str, kind: str = "zca") -> Path:
    """Returns the path of a statistics file.

    Args:
        name: the name of a file, `cifar100_zca-<hash>`, or of a set of images,
            `cifar100`. Files that ship with the package come first. A set of resized
            images, such as `imagenet2012-<fingerprint>-256`, is also found by its
            first part if only one set has this first part.
        kind: "zca" or "mean".

    Raises:
        NotFoundError: no such file exists.
        UsageError: several sets have this first part.
    """
    matched = _NAME.fullmatch(str(name))
    if matched:
        patterns = [f"{name}.npz"]
    else:
        patterns = [f"{name}_{kind}-*.npz", f"{name}-????????-*_{kind}-*.npz"]
    # Not a path, without wildcards, and not a file of the other kind.
    is_name = re.fullmatch(r"[\w-]+", str(name))
    fits = is_name and (not matched or matched["kind"] == kind)
    for place in _folders() if fits else ():
        for pattern in patterns:
            found = sorted(place.glob(pattern))
            if len({path.name.split(f"_{kind}-")[0] for path in found}) > 1:
                raise errors.UsageError(
                    f"There are several sets {name}. Name one of "
                    f"{', '.join(path.stem for path in found)}."
                )
            if found:
                return found[0]
    known = sorted({p.stem for f in _folders() for p in f.glob(f"*_{kind}-*.npz")})
    sets = {stem.rpartition(f"_{kind}-")[0] for stem in known}
    raise errors.NotFoundError(
        f"{_NONE[kind]} {name!r}. "
        f"{errors.did_you_mean(name, [*known, *sorted(sets)])}"
        f"Known: {', '.join(known) or 'none'}. Training on a data set "
        "makes such a file."
    )


def cache_folder() -> Path:
    """Returns the folder of files that do not ship with the package."""
    return files.home() / "statistics"


def _folders() -> tuple[Path, Path]:
    return Path(str(resources.files("elu_zoo"))) / "weights", cache_folder()


def read(name: str) -> Statistics:
    """Reads whitening statistics in float32, after a check of the file's hash.

    Args:
        name: see `find`.

    Raises:
        NotFoundError: no such file exists.
        CorruptError: the file is damaged.
    """
    mean, triangle = _arrays(name, "zca", ("mean", "upper_triangle"))
    size = mean.size
    if triangle.shape != (size * (size + 1) // 2,) or mean.shape != (size,):
        raise errors.CorruptError(
            f"{find(name)} cannot be read: its arrays are {mean.shape} and "
            f"{triangle.shape}."
        )
    return Statistics(mean, _symmetric(triangle, size))


def _symmetric(triangle: np.ndarray, size: int) -> np.ndarray:
    """Returns the symmetric matrix of an upper triangle.

    Copies row by row, which is much faster than `np.triu_indices` for large matrices.
    """
    matrix = np.empty((size, size), triangle.dtype)
    start = 0
    for i in range(size):
        row = triangle[start : start + size - i]
        matrix[i, i:] = matrix[i:, i] = row
        start += size - i
    return matrix


def read_mean(name: str) -> np.ndarray:
    """Reads a mean image `(height, width, channels)`, like `read`."""
    (mean,) = _arrays(name, "mean", ("mean",))
    if mean.ndim != 3:
        raise errors.CorruptError(
            f"{find(name, 'mean')} cannot be read: its array is {mean.shape}."
        )
    return mean


def _arrays(name: str, kind: str, keys: tuple[str, ...]) -> list[np.ndarray]:
    """Returns the arrays of a file, in float32."""
    path = find(name, kind)
    content = path.read_bytes()
    matched = _NAME.fullmatch(path.stem)
    if not matched or files.sha256(content)[:16] != matched["sha16"]:
        raise errors.CorruptError(
            f"{path} is damaged: its SHA-256 is {files.sha256(content)[:16]}... Delete "
            "it and get it again."
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = [stored[key].astype(np.float32) for key in keys]
        if not all(np.isfinite(array).all() for array in arrays):
            raise ValueError("its values are not finite")
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise errors.CorruptError(f"{path} cannot be read: {error}.") from error
    return arrays


def write(folder: Path, images: str, statistics: Statistics) -> Path:
    """Writes whitening statistics, rounded to float16, and returns the path.

    Args:
        folder: the folder of the file.
        images: the name of the set of images.
        statistics: the statistics.
    """
    triangle = statistics.matrix[np.triu_indices(len(statistics.mean))]
    return _write(
        folder,
        f"{images}_zca",
        mean=statistics.mean.astype(np.float16),
        upper_triangle=triangle.astype(np.float16),
    )


def write_mean(folder: Path, images: str, mean: np.ndarray) -> Path:
    """Writes the mean image of a set of images and returns the path, like `write`."""
    return _write(folder, f"{images}_mean", mean=mean.astype(np.float32))


def _write(folder: Path, name: str, **arrays: np.ndarray) -> Path:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    content = buffer.getvalue()
    path = folder / f"{name}-{files.sha256(content)[:16]}.npz"
    files.write_bytes(path, content)
    return path
