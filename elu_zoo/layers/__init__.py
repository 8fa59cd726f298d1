"""Keras layers that are not activations; their modules are imported on first use."""

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elu_zoo.layers.affine_recolor import AffineRecolor as AffineRecolor
    from elu_zoo.layers.crops import Cutout as Cutout
    from elu_zoo.layers.crops import PadCropFlip as PadCropFlip
    from elu_zoo.layers.data_statistics import MeanSubtraction as MeanSubtraction
    from elu_zoo.layers.data_statistics import ZCAWhitening as ZCAWhitening
    from elu_zoo.layers.dropout import Dropout as Dropout
    from elu_zoo.layers.dropout import FeatureMapDropout as FeatureMapDropout
    from elu_zoo.layers.dropout import keyed as keyed
    from elu_zoo.layers.fractional_max_pooling import (
        FractionalMaxPooling2D as FractionalMaxPooling2D,
    )
    from elu_zoo.layers.merging import DeepSupervision as DeepSupervision
    from elu_zoo.layers.merging import Highway as Highway
    from elu_zoo.layers.merging import Maxout as Maxout
    from elu_zoo.layers.normalization import (
        GlobalContrastNormalization as GlobalContrastNormalization,
    )
    from elu_zoo.layers.normalization import (
        WithinChannelNormalization as WithinChannelNormalization,
    )
    from elu_zoo.layers.pooling import CeilMaxPooling2D as CeilMaxPooling2D
    from elu_zoo.layers.pooling import SpatialPyramidPooling as SpatialPyramidPooling
    from elu_zoo.layers.preprocessing import image_input as image_input
    from elu_zoo.layers.preprocessing import preprocess as preprocess
    from elu_zoo.layers.preprocessing import preprocessing_layers as preprocessing_layers

_IMPORTS = re.findall(
    r"^    from (\S+) import \(?\s*(\w+) as", Path(__file__).read_text("utf-8"), re.M
)
_MODULES = {name: module for module, name in _IMPORTS}  # of the block above

__all__ = [*_MODULES]

if not TYPE_CHECKING:  # For type checkers, a misspelt name is an error.

    def __getattr__(name):
        if name not in _MODULES:
            raise AttributeError(f"module 'elu_zoo.layers' has no attribute {name!r}")
        return getattr(importlib.import_module(_MODULES[name]), name)


# Last, because `keras_registration` imports the layers right after Keras: in the module of a
# layer, its own import of Keras would find this module half imported.
import keras  # noqa: E402, F401
