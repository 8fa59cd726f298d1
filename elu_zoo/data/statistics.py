"""Statistics of training images for preprocessing: whitening and mean image."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging

from elu_zoo import errors, files
from elu_zoo.data.dataset import ImageData
from elu_zoo.layers import statistics_file
from elu_zoo.layers.statistics_file import Statistics

NORM = 55.0  # norm of every image after global contrast normalisation
_BIAS = 0.1  # added to every variance
_BATCH = 5_000  # images that are processed at once, to bound the memory
# A whitening matrix for more values per image takes many minutes and gigabytes.
MAX_VALUES = 2**13
# Standard deviation of CIFAR images after a kind of preprocessing, for images of a size
# that has no such statistics. After the other kinds, pixels keep their scale.
_DEVIATIONS = {"gcn_zca": 0.53, "gcn": 1.0, "gcn_mean": 1.0}


def find_or_fit(kind: str, data: ImageData, folder: Path | None = None) -> str:
    """Returns the name of the statistics that a kind of preprocessing needs.

    Missing statistics are computed and written to `$ELU_ZOO_HOME/statistics`. The copy
    in `folder`, a run's folder, is preferred, because another machine may compute other
    statistics.
    """
    name = data.fingerprint + {"gcn_zca": "_zca", "gcn_mean": "_gcn_mean"}.get(kind, "_mean")
    if copies := sorted(folder.glob(f"{name}-*.npz")) if folder else []:
        copy_to_cache(copies[0])
        return copies[0].stem
    if kind == "gcn_zca":
        return find_whitening(data)
    if kind == "mean_crop":
        return find_encoded_mean(data)
    return _find_resident_mean(data, normalized=kind == "gcn_mean")


def find_whitening(data: ImageData) -> str:
    """Returns the name of the whitening statistics of a data set's images.

    Missing statistics are fitted on the training and validation images (about 15 s for
    CIFAR on two cores); see `find_or_fit`.
    """
    try:
        return statistics_file.find(data.fingerprint).stem
    except errors.NotFoundError:
        logging.info("Fitting the whitening statistics of %s.", data.fingerprint)
    fitted = fit(data.train.images, data.validation.images)
    return _write(statistics_file.write, data.fingerprint, fitted)


def _find_resident_mean(data: ImageData, normalized: bool) -> str:
    """Returns the name of the mean of images in memory, raw or contrast-normalised."""
    images = f"{data.fingerprint}_gcn" if normalized else data.fingerprint
    with contextlib.suppress(errors.NotFoundError):
        return statistics_file.find(images, "mean").stem
    splits = data.train.images, data.validation.images
    total = 0.0
    for part in _parts(splits):
        rows = _normalized(part) if normalized else part.reshape(len(part), -1)
        total = total + rows.sum(0, dtype=np.float64)
    mean = (total / sum(map(len, splits))).reshape(data.image_shape)
    return _write(statistics_file.write_mean, images, mean)


def fit_scale(kind: str, images: np.ndarray) -> dict[str, Any]:
    """Returns a preprocessing that gives training images the mean 0 and one scale.

    The numbers come from sums of integers, so that they are equal on every machine.

    Args:
        kind: the kind of preprocessing whose statistics do not fit the images' size.
        images: uint8 training images, `(n, height, width, channels)`.
    """
    channels, levels = images.shape[-1], np.arange(256)
    counts = np.zeros((channels, 256), np.int64)
    for part in (images[i : i + 256] for i in range(0, len(images), 256)):
        for channel in range(channels):
            counts[channel] += np.bincount(part[..., channel].ravel(), minlength=256)
    pixels = counts[0].sum()
    means = (counts @ levels / pixels).tolist()
    variance = float(np.mean(counts @ levels**2 / pixels - np.square(means)))
    # Images of one colour have the variance 0. Less than a grey level is not enlarged.
    deviation = math.sqrt(max(variance, 1.0))
    scale = _DEVIATIONS.get(kind, deviation) / deviation
    offset = [-mean * scale for mean in means]
    logging.info(
        "Images of %d x %d pixels do not fit the network's statistics. The mean and "
        "scale of %d training images are used instead.",
        *images.shape[1:3],
        len(images),
    )
    return {"kind": "rescale", "scale": scale, "offset": offset}


def find_encoded_mean(data: ImageData) -> str:
    """Returns the name of the mean of the training images of encoded splits.

    To compute a missing mean, all images are decoded once (about 5 ms per image on one
    core). Test images are decoded too, as a check; see `find_or_fit`.
    """
    try:
        return statistics_file.find(data.fingerprint, "mean").stem
    except errors.NotFoundError:
        count = len(data.train) + len(data.test)
        logging.info("Decoding all %d images of %s once.", count, data.name)
    from elu_zoo.data import decoding

    with _cache_folder() as folder:
        files.check_writable(folder)  # The computation below may take hours.
    mean = decoding.mean_image(data.train, data.test, classes=data.num_classes)
    return _write(statistics_file.write_mean, data.fingerprint, mean)


def copy_to_cache(path: Path) -> None:
    """Copies a file of statistics to the cache folder."""
    with _cache_folder() as folder:
        if not (folder / path.name).is_file():
            files.write_bytes(folder / path.name, statistics_file.read_bytes(path))


def copy(preprocessing: dict[str, Any], folder: Path) -> None:
    """Copies the statistics of a preprocessing from the cache to a folder.

    Statistics that ship with the package are not in the cache and are not copied.
    """
    path = statistics_file.cache_folder() / f"{preprocessing.get('statistics')}.npz"
    if path.is_file():
        files.write_bytes(folder / path.name, path.read_bytes())


def _write(write: Callable, images: str, fitted: Any) -> str:
    with _cache_folder() as folder:
        return write(folder, images, fitted).stem


@contextlib.contextmanager
def _cache_folder() -> Iterator[Path]:
    """Yields the cache folder; an OSError in the block becomes a ResourceError."""
    folder = statistics_file.cache_folder()
    try:
        yield folder
    except OSError as error:
        raise errors.ResourceError(
            f"The statistics cannot be written to {folder}: {error}. Set "
            "$ELU_ZOO_HOME to a writable folder."
        ) from error


def fit(*splits: np.ndarray) -> Statistics:
    """Fits the whitening statistics in float64, as pylearn2's `ZCA` does by default.

    The rows of x are the images after global contrast normalisation to norm 55:

    ``` python
    mean = mean(x);  covariance = (x - mean).T @ (x - mean) / count
    matrix = (covariance + 0.1 * identity) ** -0.5
    ```

    Args:
        *splits: uint8 images, `(n, height, width, channels)` each.

    Returns:
        float64 statistics of `height * width * channels` values.
    """
    if any(images.dtype != np.uint8 for images in splits):
        raise errors.DataError("Statistics are fitted on raw uint8 images.")
    count = sum(map(len, splits))
    parts = _parts(splits)
    mean = sum(_normalized(part).sum(0) for part in parts) / count
    covariance = 0.0
    for part in parts:
        centred = _normalized(part) - mean
        covariance = covariance + centred.T @ centred
    variances, axes = np.linalg.eigh(covariance / count + _BIAS * np.eye(len(mean)))
    return Statistics(mean, (axes / np.sqrt(variances)) @ axes.T)


def _parts(splits: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [i[a : a + _BATCH] for i in splits for a in range(0, len(i), _BATCH)]


def _normalized(images: np.ndarray) -> np.ndarray:
    """Returns images after global contrast normalisation, as rows, in float64."""
    x = images.reshape(len(images), -1).astype(np.float64)
    x -= x.mean(1, keepdims=True)
    divisor = np.sqrt((x * x).sum(1, keepdims=True)) / NORM
    return x / np.where(divisor < 1e-8, 1.0, divisor)
