"""Pretrained weights: the manifest, the files that ship, and how both are read."""

from elu_zoo.weights.entries import list_weights, manifest

__all__ = ["list_weights", "manifest"]
