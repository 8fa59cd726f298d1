"""Keras layers that are not activations, one concept a file."""

from elu_zoo.layers.dropout import Dropout, keyed
from elu_zoo.layers.global_contrast_normalization import GlobalContrastNormalization
from elu_zoo.layers.mean_subtraction import MeanSubtraction
from elu_zoo.layers.pad_crop_flip import PadCropFlip
from elu_zoo.layers.preprocessing import image_input, preprocess, preprocessing_layers
from elu_zoo.layers.spatial_pyramid_pooling import SpatialPyramidPooling
from elu_zoo.layers.zca_whitening import ZCAWhitening

__all__ = [
    "Dropout",
    "GlobalContrastNormalization",
    "MeanSubtraction",
    "PadCropFlip",
    "SpatialPyramidPooling",
    "ZCAWhitening",
    "image_input",
    "keyed",
    "preprocess",
    "preprocessing_layers",
]
