"""Layers, parameters and multiply-accumulate operations of a network."""

import math
from collections.abc import Iterator

import keras

from elu_zoo import errors

_COUNTED = (
    keras.layers.Dense,
    keras.layers.Conv2D,
    keras.layers.DepthwiseConv2D,
    keras.layers.SeparableConv2D,
)
_KERNELS = "kernel", "depthwise_kernel", "pointwise_kernel"


def all_layers(model: keras.Model) -> Iterator[keras.layers.Layer]:
    """Yields the layers of a model; a model in it is replaced by its own layers.

    Subclassed models are not replaced, because their layers have no outputs.
    """
    for layer in model.layers:
        if isinstance(layer, keras.Sequential | keras.Function):
            yield from all_layers(layer)
        else:
            yield layer


def parameters(model: keras.Model) -> int:
    """Returns the number of scalar weights of a model.

    The number includes the moving statistics of batch normalisation, but not the states
    of random number generators.
    """
    return sum(math.prod(v.shape) for layer in model.layers for v in layer.weights)


def multiply_accumulates(model: keras.Model) -> int:
    """Returns the multiply-accumulates per image in dense and 2-D convolution layers.

    The number includes layers of nested models. A layer that is called twice counts
    once, and all other layers, such as attention, count as 0.
    """
    total = 0
    for layer in all_layers(model):
        if isinstance(layer, _COUNTED):
            size = layer.output.shape[1:-1]
            if None in size:
                raise errors.UsageError(
                    f"{layer.name} has maps of {size} pixels. Pass an input_shape without None."
                )
            positions = math.prod(size)
            kernels = (getattr(layer, name, None) for name in _KERNELS)
            sizes = (math.prod(k.shape) for k in kernels if k is not None)
            total += positions * sum(sizes)
    return total
