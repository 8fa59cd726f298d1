"""Pretrained weights: the manifest, the files, and how both are found and read."""

from elu_zoo.weights.download import fetch_weights
from elu_zoo.weights.manifest import list_weights

__all__ = ["fetch_weights", "list_weights"]
