"""Keras layers that are not activations; their modules are imported on first use."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elu_zoo.layers.affine_recolor import AffineRecolor
    from elu_zoo.layers.crops import Cutout, PadCropFlip
    from elu_zoo.layers.data_statistics import MeanSubtraction, ZCAWhitening
    from elu_zoo.layers.dropout import Dropout, FeatureMapDropout, keyed
    from elu_zoo.layers.fractional_max_pooling import FractionalMaxPooling2D
    from elu_zoo.layers.merging import DeepSupervision, Highway, Maxout
    from elu_zoo.layers.normalization import GlobalContrastNormalization, WithinChannelNormalization
    from elu_zoo.layers.pooling import CeilMaxPooling2D, SpatialPyramidPooling
    from elu_zoo.layers.preprocessing import image_input, preprocess, preprocessing_layers
else:
    _MODULES = """affine_recolor crops data_statistics dropout fractional_max_pooling merging
        normalization pooling preprocessing""".split()

    def __getattr__(name):
        if name in __all__:
            for module in [importlib.import_module(f"elu_zoo.layers.{m}") for m in _MODULES]:
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module 'elu_zoo.layers' has no attribute {name!r}")


__all__ = [
    "AffineRecolor",
    "CeilMaxPooling2D",
    "Cutout",
    "DeepSupervision",
    "Dropout",
    "FeatureMapDropout",
    "FractionalMaxPooling2D",
    "GlobalContrastNormalization",
    "Highway",
    "Maxout",
    "MeanSubtraction",
    "PadCropFlip",
    "SpatialPyramidPooling",
    "WithinChannelNormalization",
    "ZCAWhitening",
    "image_input",
    "keyed",
    "preprocess",
    "preprocessing_layers",
]

# Last, because `keras_registration` imports the layers right after Keras: in the module of a
# layer, its own import of Keras would find this module half imported.
import keras  # noqa: E402, F401
