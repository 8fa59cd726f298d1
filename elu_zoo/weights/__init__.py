"""Pretrained weights: the manifest, and reading and download of weight files."""

from elu_zoo.weights.download import fetch_weights
from elu_zoo.weights.manifest import list_weights

__all__ = ["fetch_weights", "list_weights"]
