"""What a network costs: parameters and multiply-accumulates of one image."""

import math

import keras


def parameters(model: keras.Model) -> int:
    """Returns the number of trained and running values of a model.

    Batch normalisation's running means and variances count; states of random
    number generators do not.
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
