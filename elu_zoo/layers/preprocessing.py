"""Preprocessing layers for raw 0..255 images."""

import contextlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.layers import statistics_file

_VALUES = 2**22  # largest number of values processed at once, which bounds the memory


def _rescale(scale: float, offset: float | Sequence[float] = 0.0) -> list[keras.layers.Layer]:
    offsets = offset if isinstance(offset, list | tuple) else [offset]
    if not (errors.is_finite(scale) and scale and all(map(errors.is_finite, offsets))):
        raise errors.UsageError(
            "The preprocessing 'rescale' needs a 'scale' that is finite and not 0, and "
            f"an 'offset' that is finite. Received: scale={scale!r}, offset={offset!r}."
        )
    return [keras.layers.Rescaling(scale, offset, name="rescale", dtype="float32")]


def _gcn() -> list[keras.layers.Layer]:
    from elu_zoo.layers.normalization import GlobalContrastNormalization

    return [GlobalContrastNormalization(name="normalize", dtype="float32")]


def _gcn_mean(statistics: str) -> list[keras.layers.Layer]:
    # For a data set's name, `statistics_file.find` returns the mean of raw images.
    is_file = "_mean-" in str(statistics)
    return [*_gcn(), *_mean(statistics if is_file else f"{statistics}_gcn", "gcn_mean")]


def _mean(statistics: str, kind: str = "mean") -> list[keras.layers.Layer]:
    from elu_zoo.layers.data_statistics import MeanSubtraction

    is_gcn = "_gcn_mean-" in statistics_file.find(statistics, "mean").name
    if is_gcn != (kind == "gcn_mean"):
        raise errors.UsageError(
            f"{statistics} is the mean of {'normalised' if is_gcn else 'raw'} images. Received: "
            f"the preprocessing {kind!r}."
        )
    return [MeanSubtraction(statistics, name="subtract_mean", dtype="float32")]


def _gcn_zca(statistics: str) -> list[keras.layers.Layer]:
    from elu_zoo.layers.data_statistics import ZCAWhitening

    return [*_gcn(), ZCAWhitening(statistics, name="whiten", dtype="float32")]


def _mean_crop(statistics: str, crop: Sequence[int]) -> list[keras.layers.Layer]:
    errors.check_numbers(
        "The entry 'crop' of the preprocessing 'mean_crop'",
        crop,
        2,
        "integers >= 1 (height and width)",
        lambda size: type(size) is int and size > 0,
    )
    height, width, _ = statistics_file.read_mean(statistics).shape
    rows, columns = height - crop[0], width - crop[1]
    if min(rows, columns) < 0:
        raise errors.UsageError(
            f"A crop of {tuple(crop)} does not fit into the mean image {statistics} of "
            f"{(height, width)} pixels. Pass a smaller crop."
        )
    margins = (rows // 2, rows - rows // 2), (columns // 2, columns - columns // 2)
    return [
        *_mean(statistics, "mean_crop"),
        keras.layers.Cropping2D(margins, name="centre_crop", dtype="float32"),
    ]


# The parameters of each function are the entries of a description of its kind.
_KINDS: dict[str, Callable[..., list[keras.layers.Layer]]] = {
    "rescale": _rescale,
    "gcn": _gcn,
    "gcn_zca": _gcn_zca,
    "mean": _mean,
    "gcn_mean": _gcn_mean,
    "mean_crop": _mean_crop,
}


def preprocessing_layers(preprocessing: dict[str, Any]) -> list[keras.layers.Layer]:
    """Returns the layers of a preprocessing description, in order.

    Args:
        preprocessing: a description of one of the following kinds. `name` is the name
            of a data set or of a statistics file.

            - `{"kind": "rescale", "scale": s}` multiplies every pixel by s and adds the
              optional entry `"offset"`, a number, or a list of one for each channel.
            - `{"kind": "gcn"}` applies global contrast normalisation.
            - `{"kind": "mean", "statistics": name}` subtracts the mean image.
            - `{"kind": "gcn_mean", "statistics": name}` applies global contrast normalisation and
              subtracts the mean of normalised images.
            - `{"kind": "gcn_zca", "statistics": name}` applies global contrast normalisation and
              ZCA whitening.
            - `{"kind": "mean_crop", "statistics": name, "crop": (height, width)}` subtracts the
              mean image and crops the centre.

    Raises:
        UsageError: the kind or an entry is unknown, or an entry is missing or wrong.
        NotFoundError: the statistics are not on this machine.
    """
    kind: Any = preprocessing.get("kind")
    errors.check_choice("preprocessing", kind, _KINDS)
    arguments = {}
    parameters = inspect.signature(_KINDS[kind]).parameters
    for key in preprocessing:
        if key not in ("kind", *parameters):
            raise errors.unknown_name_error(f"entry of preprocessing {kind!r}:", key, parameters)
    for key, parameter in parameters.items():
        if key in preprocessing:
            arguments[key] = preprocessing[key]
        elif parameter.default is parameter.empty:
            raise errors.UsageError(
                f"The preprocessing {kind!r} needs an entry {key!r}. Received: {preprocessing}."
            )
    return _KINDS[kind](**arguments)


def image_input(
    input_shape: tuple[int, int, int], preprocessing: dict[str, Any] | None
) -> tuple[Any, Any]:
    """Returns the input `image` of a network and the output of its preprocessing.

    Args:
        input_shape: `(height, width, channels)` of preprocessed images. Height and width may be
            None if the preprocessing has no statistics.
        preprocessing: see `preprocessing_layers`; None for a network of preprocessed images.

    Raises:
        UsageError: the preprocessing does not return images of `input_shape`.
    """
    layers = [] if preprocessing is None else preprocessing_layers(preprocessing)
    if preprocessing and layers:
        _check_fits(preprocessing, tuple(input_shape))
    raw_shape = input_shape
    if preprocessing and layers and preprocessing["kind"] == "mean_crop":
        raw_shape = statistics_file.read_mean(preprocessing["statistics"]).shape
    image = x = keras.Input(raw_shape, name="image")
    for layer in layers:
        x = layer(x)
    if tuple(x.shape[1:]) != tuple(input_shape):
        raise errors.UsageError(
            f"The preprocessing {preprocessing} returns images of shape {tuple(x.shape[1:])}. "
            f"Received: input_shape={tuple(input_shape)}. Build the model with preprocessing=False."
        )
    return image, x


def _check_fits(preprocessing: dict[str, Any], shape: tuple) -> None:
    """Checks that a preprocessing can return images of a shape."""
    offset = preprocessing.get("offset")
    if "statistics" in preprocessing and None in shape:
        expected = f"The statistics {preprocessing['statistics']} fit images of one size"
    elif isinstance(offset, list | tuple) and len(offset) != shape[2]:
        expected = f"The offsets {offset} fit images with {len(offset)} channels"
    else:
        return
    raise errors.UsageError(
        f"{expected}. Received: images of shape {shape}. Build the model with "
        "preprocessing=False and preprocess the images yourself."
    )


def preprocess(images: np.ndarray, preprocessing: dict[str, Any]) -> np.ndarray:
    """Returns preprocessed images, in float32.

    Args:
        images: raw 0..255 images, `(batch, height, width, channels)`.
        preprocessing: see `preprocessing_layers`, whose errors are raised here too.
    """
    layers = preprocessing_layers(preprocessing)
    _check_fits(preprocessing, images.shape[1:])
    count = max(1, min(1000, _VALUES // max(1, images[:1].size)))
    result: Any = None
    with _full_precision():
        for start in range(0, max(1, len(images)), count):
            x = images[start : start + count].astype(np.float32)
            for layer in layers:
                x = layer(x)
            if result is None:
                result = np.empty((len(images), *x.shape[1:]), np.float32)
            result[start : start + count] = keras.ops.convert_to_numpy(x)
    return result


def _full_precision() -> contextlib.AbstractContextManager:
    """Returns a context in which JAX computes matrix products in full float32."""
    if keras.backend.backend() != "jax":
        return contextlib.nullcontext()
    import jax

    return jax.default_matmul_precision("float32")
