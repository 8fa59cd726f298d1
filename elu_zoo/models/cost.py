"""Numbers of parameters and of multiply-accumulate operations of a network."""

import math

import keras


def parameters(model: keras.Model) -> int:
    """Returns the number of scalar weights of a model.

    The number includes the moving statistics of batch normalisation, but not the states
    of random number generators.
    """
    return sum(math.prod(v.shape) for layer in model.layers for v in layer.weights)


def multiply_accumulates(model: keras.Model) -> int:
    """Returns the multiply-accumulates per image in dense and convolution layers."""
    total = 0
    for layer in model.layers:
        if isinstance(layer, keras.layers.Dense | keras.layers.Conv2D):
            positions = math.prod(layer.output.shape[1:-1])
            total += positions * math.prod(layer.kernel.shape)
    return total
