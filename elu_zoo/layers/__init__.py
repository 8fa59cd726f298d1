"""Keras layers that are not activations; their modules are imported on first use."""

import importlib
from typing import Any

_MODULES = {
    "AffineRecolor": "affine_recolor",
    "CeilMaxPooling2D": "pooling",
    "Cutout": "crops",
    "DeepSupervision": "merging",
    "Dropout": "dropout",
    "FeatureMapDropout": "dropout",
    "FractionalMaxPooling2D": "fractional_max_pooling",
    "GlobalContrastNormalization": "normalization",
    "Highway": "merging",
    "Maxout": "merging",
    "MeanSubtraction": "data_statistics",
    "PadCropFlip": "crops",
    "SpatialPyramidPooling": "pooling",
    "WithinChannelNormalization": "normalization",
    "ZCAWhitening": "data_statistics",
    "image_input": "preprocessing",
    "keyed": "dropout",
    "preprocess": "preprocessing",
    "preprocessing_layers": "preprocessing",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'elu_zoo.layers' has no attribute {name!r}")
    return getattr(importlib.import_module(f"elu_zoo.layers.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


# Last, because `keras_registration` imports the layers right after Keras: in the module of a
# layer, its own import of Keras would find this module half imported.
import keras  # noqa: E402, F401
