"""How raw 0..255 images become a network's input, as layers of the model."""

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.layers import statistics_file
from elu_zoo.layers.global_contrast_normalization import GlobalContrastNormalization
from elu_zoo.layers.mean_subtraction import MeanSubtraction
from elu_zoo.layers.zca_whitening import ZCAWhitening

_VALUES = 2**22  # of the images at once, to bound the memory


def _rescale(scale: float, offset: float = 0.0) -> list[keras.layers.Layer]:
    if not (_is_finite(scale) and scale and _is_finite(offset)):
        raise errors.UsageError(
            "The preprocessing 'rescale' has an entry 'scale', a finite number that is "
            "not 0, and may have an 'offset', a finite number. Received: "
            f"{scale!r} and {offset!r}."
        )
    return [keras.layers.Rescaling(scale, offset, name="rescale")]


def _is_finite(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _gcn() -> list[keras.layers.Layer]:
    return [GlobalContrastNormalization(name="normalize", dtype="float32")]


def _gcn_mean(statistics: str) -> list[keras.layers.Layer]:
    # A data set's name is that of its raw images.
    named = f"{statistics}_gcn" if "_mean-" not in str(statistics) else statistics
    return [*_gcn(), *_mean(named)]


def _mean(statistics: str) -> list[keras.layers.Layer]:
    return [MeanSubtraction(statistics, name="subtract_mean", dtype="float32")]


def _gcn_zca(statistics: str) -> list[keras.layers.Layer]:
    whiten = ZCAWhitening(statistics, name="whiten", dtype="float32")
    return [*_gcn(), whiten]


def _mean_crop(statistics: str, crop: Sequence[int]) -> list[keras.layers.Layer]:
    crop = tuple(crop) if isinstance(crop, list | tuple) else crop
    integers = isinstance(crop, tuple) and [type(n) is int and n > 0 for n in crop]
    if integers != [True, True]:
        raise errors.UsageError(
            "The preprocessing 'mean_crop' has an entry 'crop', height and width of "
            f"the centre crop, two integers >= 1. Received: {crop!r}."
        )
    height, width, _ = statistics_file.read_mean(statistics).shape
    rows, columns = height - crop[0], width - crop[1]
    if min(rows, columns) < 0:
        raise errors.UsageError(
            f"A crop of {crop} is not within images of {(height, width)}, of "
            f"which {statistics} is the mean."
        )
    margins = (rows // 2, rows - rows // 2), (columns // 2, columns - columns // 2)
    return [
        *_mean(statistics),
        keras.layers.Cropping2D(margins, name="centre_crop", dtype="float32"),
    ]


# kind: (what each of its entries is, the layers)
_KINDS: dict[str, tuple[dict[str, str], Callable[..., list[keras.layers.Layer]]]] = {
    "rescale": ({"scale": "the factor of every pixel"}, _rescale),
    "gcn": ({}, _gcn),
    "gcn_zca": ({"statistics": "the name of the whitening statistics"}, _gcn_zca),
    "mean": ({"statistics": "the name of the mean image"}, _mean),
    "gcn_mean": (
        {"statistics": "the name of the mean of contrast-normalised images"},
        _gcn_mean,
    ),
    "mean_crop": (
        {
            "statistics": "the name of the mean image",
            "crop": "height and width of the centre crop",
        },
        _mean_crop,
    ),
}


def preprocessing_layers(preprocessing: dict[str, Any]) -> list[keras.layers.Layer]:
    """Returns the layers of a preprocessing description, in order.

    Args:
        preprocessing: `{"kind": "rescale", "scale": s}` multiplies every pixel by
            s; 1 / 255 for the MNIST networks, which are not centred; an `"offset"` is
            added. `{"kind": "gcn"}` is global contrast normalisation,
            `{"kind": "mean", "statistics": name}` subtracts the mean image, and
            `"gcn_mean"` does both, the mean being that of normalised images.
            `{"kind": "gcn_zca", "statistics": name}` is global contrast
            normalisation and whitening, for the CIFAR networks.
            `{"kind": "mean_crop", "statistics": name, "crop": (height, width)}`
            subtracts the mean image and cuts out the centre, for ImageNet.

    Raises:
        UsageError: the kind is not known, or lacks an entry.
    """
    kind = preprocessing.get("kind")
    if kind not in _KINDS:
        raise errors.unknown("preprocessing", kind, _KINDS)
    entries, layers = _KINDS[kind]
    for key, meaning in entries.items():
        if key not in preprocessing:
            raise errors.UsageError(
                f"The preprocessing {kind!r} has an entry {key!r}, {meaning}. "
                f"Received: {preprocessing}."
            )
    given = {*entries, "offset"} if kind == "rescale" else entries
    return layers(**{k: preprocessing[k] for k in given if k in preprocessing})


def image_input(
    input_shape: tuple[int, int, int], preprocessing: dict[str, Any] | None
) -> tuple[Any, Any]:
    """Returns the input of a network, named `image`, and what its first layer takes.

    Args:
        input_shape: `(height, width, channels)` of what the first layer takes.
        preprocessing: see `preprocessing_layers`; None for an input that is
            preprocessed already.

    Raises:
        UsageError: the preprocessing gives images of another shape.
    """
    layers = [] if preprocessing is None else preprocessing_layers(preprocessing)
    raw_shape = input_shape
    if layers and preprocessing["kind"] == "mean_crop":
        raw_shape = statistics_file.read_mean(preprocessing["statistics"]).shape
    image = x = keras.Input(raw_shape, name="image")
    for layer in layers:
        x = layer(x)
    if tuple(x.shape[1:]) != tuple(input_shape):
        raise errors.UsageError(
            f"The preprocessing {preprocessing} gives images {tuple(x.shape[1:])}. "
            f"Received: input_shape={tuple(input_shape)}. Build the model with "
            "preprocessing=False."
        )
    return image, x


def preprocess(images: np.ndarray, preprocessing: dict[str, Any]) -> np.ndarray:
    """Returns what the layers of a description make of images, in float32.

    Args:
        images: raw 0..255 images, `(batch, height, width, channels)`.
        preprocessing: see `preprocessing_layers`.
    """
    layers = preprocessing_layers(preprocessing)
    count = max(1, min(1000, _VALUES // max(1, images[:1].size)))
    result = None
    with _whole_precision():
        for start in range(0, max(1, len(images)), count):
            x = images[start : start + count].astype(np.float32)
            for layer in layers:
                x = layer(x)
            if result is None:
                result = np.empty((len(images), *x.shape[1:]), np.float32)
            result[start : start + count] = keras.ops.convert_to_numpy(x)
    return result


def _whole_precision() -> contextlib.AbstractContextManager:
    """Keeps JAX from rounding what an accelerator multiplies."""
    if keras.backend.backend() != "jax":
        return contextlib.nullcontext()
    import jax

    return jax.default_matmul_precision("float32")
