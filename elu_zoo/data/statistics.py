"""Statistics of training images for preprocessing: whitening and mean image."""

import contextlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging

from elu_zoo import errors, files
from elu_zoo.data import encoded
from elu_zoo.data.dataset import ImageData
from elu_zoo.layers import statistics_file
from elu_zoo.layers.statistics_file import Statistics

NORM = 55.0  # norm of every image after global contrast normalisation
_BIAS = 0.1  # added to every variance
_BATCH = 5_000  # images that are processed at once, to bound the memory
_ROOM = 2**27  # bytes of the largest file of statistics
# A whitening matrix for more values per image takes many minutes and gigabytes.
MAX_VALUES = 2**13
# Standard deviation of CIFAR images after a kind of preprocessing, for images of a size
# that has no such statistics. After the other kinds, pixels keep their scale.
_DEVIATIONS = {"gcn_zca": 0.53, "gcn": 1.0, "gcn_mean": 1.0}


def find_or_fit(kind: str, data: ImageData, folder: Path | None = None) -> str:
    """Returns the name of the statistics that a kind of preprocessing needs.

    Missing statistics are computed and written to `$ELU_ZOO_HOME/statistics`. The copy in `folder`,
    a run's folder, is preferred, because another machine may compute other statistics.
    """
    images = data.fingerprint + "_gcn" * (kind == "gcn_mean")
    stored = "zca" if kind == "gcn_zca" else "mean"
    if copies := sorted(folder.glob(f"{images}_{stored}-*.npz")) if folder else []:
        copy_to_cache(copies[0])
        return copies[0].stem
    with contextlib.suppress(errors.NotFoundError):
        return statistics_file.find(images, stored).stem
    logging.info("Computing the statistics of all images of %s once.", data.name)
    cache = statistics_file.cache_folder()
    files.check_writable(cache, _ROOM)  # The computation may take hours.
    if stored == "zca":
        fitted = fit(data.train.images, data.validation.images)
        return statistics_file.write(cache, images, fitted).stem
    mean = _mean(data, normalized=kind == "gcn_mean")
    return statistics_file.write_mean(cache, images, mean).stem


def _mean(data: ImageData, normalized: bool) -> np.ndarray:
    """Returns the mean of the training images, raw or contrast-normalised."""
    if data.train.is_encoded:
        # The test images are decoded too, as a check before training.
        return encoded.mean_image(data.train, data.test, classes=data.num_classes)
    splits = data.train.images, data.validation.images
    total = 0.0
    for part in _parts(splits):
        rows = _normalized(part) if normalized else part.reshape(len(part), -1)
        total = total + rows.sum(0, dtype=np.float64)
    return (total / sum(map(len, splits))).reshape(data.image_shape)


def fit_scale(kind: str, images: np.ndarray) -> dict[str, Any]:
    """Returns a preprocessing that gives uint8 training images the mean 0 and one scale.

    The numbers come from sums of integers, so that they are equal on every machine. The
    statistics of `kind` do not fit the images' size.
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
        "Images of %d x %d pixels do not fit the preprocessing. The mean and "
        "scale of %d training images are used instead.",
        *images.shape[1:3],
        len(images),
    )
    return {"kind": "rescale", "scale": scale, "offset": offset}


def copy_to_cache(path: Path) -> None:
    """Copies a file of statistics to the cache folder."""
    copied = statistics_file.cache_folder() / path.name
    if not copied.is_file():
        files.check_writable(copied.parent, _ROOM)
        files.write_bytes(copied, statistics_file.read_bytes(path))


def copy(preprocessing: dict[str, Any], folder: Path) -> None:
    """Copies the statistics of a preprocessing from the cache, if they are there."""
    name = f"{preprocessing.get('statistics')}.npz"
    for path in statistics_file.cache_folder().rglob(name):
        files.write_bytes(folder / name, path.read_bytes())


def fit(*splits: np.ndarray) -> Statistics:
    """Fits the whitening statistics in float64, as pylearn2's `ZCA` does by default.

    The rows of x are the images after global contrast normalisation to norm 55:

    ``` python
    mean = mean(x);  covariance = (x - mean).T @ (x - mean) / count
    matrix = (covariance + 0.1 * identity) ** -0.5
    ```
    """
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
