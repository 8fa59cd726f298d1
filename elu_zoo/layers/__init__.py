"""Keras layers that are not activations."""

from elu_zoo.layers.affine_recolor import AffineRecolor
from elu_zoo.layers.ceil_max_pooling import CeilMaxPooling2D
from elu_zoo.layers.cutout import Cutout
from elu_zoo.layers.deep_supervision import DeepSupervision
from elu_zoo.layers.dropout import Dropout, keyed
from elu_zoo.layers.feature_map_dropout import FeatureMapDropout
from elu_zoo.layers.fractional_max_pooling import FractionalMaxPooling2D
from elu_zoo.layers.global_contrast_normalization import GlobalContrastNormalization
from elu_zoo.layers.highway import Highway
from elu_zoo.layers.maxout import Maxout
from elu_zoo.layers.mean_subtraction import MeanSubtraction
from elu_zoo.layers.pad_crop_flip import PadCropFlip
from elu_zoo.layers.preprocessing import image_input, preprocess, preprocessing_layers
from elu_zoo.layers.spatial_pyramid_pooling import SpatialPyramidPooling
from elu_zoo.layers.within_channel_normalization import WithinChannelNormalization
from elu_zoo.layers.zca_whitening import ZCAWhitening

# Layers whose draws are reproducible within `keyed`, by their seeds.
KEYED = Dropout, FeatureMapDropout, FractionalMaxPooling2D

__all__ = [
    "KEYED",
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
