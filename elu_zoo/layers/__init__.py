"""Keras layers that are not activations, one concept a file."""

from elu_zoo.layers.preprocessing import preprocessing_layers

__all__ = ["preprocessing_layers"]
