"""Pretrained weights: the manifest, the files, and how both are found and read."""

from elu_zoo.weights.entries import list_weights, manifest
from elu_zoo.weights.fetch import fetch_weights

__all__ = ["fetch_weights", "list_weights", "manifest"]
