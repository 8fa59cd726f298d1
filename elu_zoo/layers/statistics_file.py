"""Statistics files: the mean image or the whitening matrix of a set of images.

`<images>_zca-<hash>.npz` holds whitening statistics in float16, which are the mean and
the upper triangle of the symmetric matrix. `<images>_mean-<hash>.npz` holds a mean
image in float32. `<images>` is the name of the set of images, and `<hash>` the first 16
hexadecimal digits of the file's SHA-256. Files that ship with the package are in
`elu_zoo/weights/files`; other files are in `$ELU_ZOO_HOME/statistics`.
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
        mean: mean of the images after global contrast normalisation, `(values,)`.
        matrix: symmetric whitening matrix, `(values, values)`.
    """

    mean: np.ndarray
    matrix: np.ndarray


def find(name: str, kind: str = "zca") -> Path:
    """Returns the path of a statistics file.

    Args:
        name: the name of a file, such as `cifar100_zca-<hash>`, or of a set of images,
            such as `cifar100`. Files that ship with the package are preferred. A set of
            resized images, such as `imagenet2012-<fingerprint>-256`, is also found by
            the name before the fingerprint if only one set has this name.
        kind: "zca" or "mean".
    """
    patterns = [f"{name}_{kind}-*.npz", f"{name}-????????-*_{kind}-*.npz"]
    if matched := _NAME.fullmatch(str(name)):
        # The subfolder `received` has files of others, whose names training must not find.
        patterns = [f"**/{name}.npz"] if matched["kind"] == kind else []
    # A path, or a name with wildcards, would match other files.
    is_name = re.fullmatch(r"[\w-]+", str(name))
    for folder in _folders() if is_name else ():
        for pattern in patterns:
            paths = sorted(folder.glob(pattern))
            if len({path.name.split(f"_{kind}-")[0] for path in paths}) > 1:
                raise errors.UsageError(
                    f"There are several sets of images {name!r}. Pass one of these "
                    f"names: {', '.join(path.stem for path in paths)}."
                )
            if paths:
                return paths[0]
    known = sorted({p.stem for f in _folders() for p in f.glob(f"*_{kind}-*.npz")})
    sets = {stem.rpartition(f"_{kind}-")[0] for stem in known}
    raise errors.NotFoundError(
        f"{_NONE[kind]} {name!r}. {errors.did_you_mean(name, [*known, *sorted(sets)])}Known: "
        f"{', '.join(known) or 'none'}. Training on a data set writes its statistics file into the "
        f"run's folder and into {cache_folder()}. For a model of another machine, copy the file "
        "from that machine into this folder."
    )


def cache_folder() -> Path:
    """Returns the folder of the statistics files that do not ship with the package."""
    return files.home() / "statistics"


def _folders() -> tuple[Path, Path]:
    return Path(str(resources.files("elu_zoo"))) / "weights/files", cache_folder()


def read(name: str) -> Statistics:
    """Reads whitening statistics in float32, after a check of the file's hash."""
    mean, triangle = _arrays(name, "zca", ("mean", "upper_triangle"))
    size = mean.size
    if triangle.shape != (size * (size + 1) // 2,) or mean.shape != (size,):
        shapes = f"{mean.shape} and {triangle.shape}"
        raise _corrupt(find(name), f"cannot be read: its arrays have the shapes {shapes}")
    return Statistics(mean, _symmetric(triangle, size))


def _symmetric(triangle: np.ndarray, size: int) -> np.ndarray:
    """Returns the symmetric matrix whose upper triangle is `triangle`.

    For large matrices, copying rows is much faster than indexing by `np.triu_indices`.
    """
    matrix = np.empty((size, size), triangle.dtype)
    start = 0
    for i in range(size):
        row = triangle[start : start + size - i]
        matrix[i, i:] = matrix[i:, i] = row
        start += size - i
    return matrix


def read_mean(name: str) -> np.ndarray:
    """Reads a mean image `(height, width, channels)`; see `read`."""
    (mean,) = _arrays(name, "mean", ("mean",))
    if mean.ndim != 3:
        reason = f"cannot be read: its array has the shape {mean.shape}"
        raise _corrupt(find(name, "mean"), reason)
    return mean


def read_bytes(path: Path) -> bytes:
    """Returns the content of a statistics file, after a check of the file's hash."""
    content = files.read(path)
    matched, digest = _NAME.fullmatch(path.stem), files.sha256(content)[:16]
    if not matched or digest != matched["sha16"]:
        raise _corrupt(path, f"is damaged: its SHA-256 starts with {digest}")
    return content


def _arrays(name: str, kind: str, keys: tuple[str, ...]) -> list[np.ndarray]:
    """Returns the arrays of a file, in float32."""
    path = find(name, kind)
    content = read_bytes(path)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            if sum(part.file_size for part in stored.zip.infolist()) > 2**28:
                raise ValueError("it is too large")
            arrays = [stored[key].astype(np.float32) for key in keys]
        if not all(np.isfinite(array).all() for array in arrays):
            raise ValueError("its values are not finite")
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise _corrupt(path, f"cannot be read: {error}") from error
    return arrays


def _corrupt(path: Path, reason: str) -> errors.CorruptError:
    return errors.CorruptError(f"{path} {reason}. Delete the file and obtain it again.")


def write(folder: Path, images: str, statistics: Statistics) -> Path:
    """Writes whitening statistics, rounded to float16, and returns the file's path."""
    triangle = statistics.matrix[np.triu_indices(len(statistics.mean))]
    return _write(
        folder,
        f"{images}_zca",
        mean=statistics.mean.astype(np.float16),
        upper_triangle=triangle.astype(np.float16),
    )


def write_mean(folder: Path, images: str, mean: np.ndarray) -> Path:
    """Writes the mean image of a set of images and returns the file's path."""
    return _write(folder, f"{images}_mean", mean=mean.astype(np.float32))


def _write(folder: Path, name: str, **arrays: np.ndarray) -> Path:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    content = buffer.getvalue()
    path = folder / f"{name}-{files.sha256(content)[:16]}.npz"
    files.write_bytes(path, content)
    return path
