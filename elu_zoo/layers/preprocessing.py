"""How raw 0..255 images become a network's input, as layers of the model."""

import contextlib
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.layers.global_contrast_normalization import GlobalContrastNormalization
from elu_zoo.layers.zca_whitening import ZCAWhitening

_SLICE = 1000  # images at once, to bound the memory

# kind: (the entry it needs, what that entry is, the layers)
_KINDS: dict[str, tuple[str, str, Callable[[Any], list[keras.layers.Layer]]]] = {
    "rescale": (
        "scale",
        "the factor of every pixel",
        lambda scale: [keras.layers.Rescaling(scale, name="rescale")],
    ),
    "gcn_zca": (
        "statistics",
        "the name of the whitening statistics",
        lambda name: [
            GlobalContrastNormalization(name="normalize", dtype="float32"),
            ZCAWhitening(name, name="whiten", dtype="float32"),
        ],
    ),
}


def preprocessing_layers(preprocessing: dict[str, Any]) -> list[keras.layers.Layer]:
    """Returns the layers of a preprocessing description, in order.

    Args:
        preprocessing: `{"kind": "rescale", "scale": s}` multiplies every pixel by
            s; 1 / 255 for the MNIST networks, which are not centred.
            `{"kind": "gcn_zca", "statistics": name}` is global contrast
            normalisation and whitening, for the CIFAR networks.

    Raises:
        UsageError: the kind is not known, or lacks an entry.
    """
    kind = preprocessing.get("kind")
    if kind not in _KINDS:
        raise errors.unknown("preprocessing", kind, _KINDS)
    key, meaning, layers = _KINDS[kind]
    if key not in preprocessing:
        raise errors.UsageError(
            f"The preprocessing {kind!r} has an entry {key!r}, {meaning}. Received: "
            f"{preprocessing}."
        )
    return layers(preprocessing[key])


def preprocess(images: np.ndarray, preprocessing: dict[str, Any]) -> np.ndarray:
    """Returns what the layers of a description make of images, in float32.

    Args:
        images: raw 0..255 images, `(batch, height, width, channels)`.
        preprocessing: see `preprocessing_layers`.
    """
    layers = preprocessing_layers(preprocessing)
    result = np.empty(images.shape, np.float32)
    with _whole_precision():
        for start in range(0, len(images), _SLICE):
            x = images[start : start + _SLICE].astype(np.float32)
            for layer in layers:
                x = layer(x)
            result[start : start + _SLICE] = keras.ops.convert_to_numpy(x)
    return result


def _whole_precision() -> contextlib.AbstractContextManager:
    """Keeps JAX from rounding what an accelerator multiplies."""
    if keras.backend.backend() != "jax":
        return contextlib.nullcontext()
    import jax

    return jax.default_matmul_precision("float32")
