"""The cost of a network: parameters, and multiply-accumulates for one image."""

import math

import keras


def parameters(model: keras.Model) -> int:
    """Returns the number of weights of a model.

    The moving statistics of batch normalisation count; the states of random number
    generators do not.
    """
    return sum(math.prod(v.shape) for layer in model.layers for v in layer.weights)


def multiply_accumulates(model: keras.Model) -> int:
    """Returns the multiply-accumulates of dense and convolution layers per image."""
    total = 0
    for layer in model.layers:
        if isinstance(layer, keras.layers.Dense | keras.layers.Conv2D):
            positions = math.prod(layer.output.shape[1:-1])
            total += positions * math.prod(layer.kernel.shape)
    return total
