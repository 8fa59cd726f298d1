"""Activation functions, activation layers, and the table of activation names."""

from elu_zoo.activations.elu import ELU, elu, elu_xla, form
from elu_zoo.activations.table import describe, make, names, register_activation

__all__ = ["ELU", "describe", "elu", "elu_xla", "form", "make", "names", "register_activation"]
