"""Incoming activations and deltas of a dense layer."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np


def collect(
    model: keras.Model,
    layer: keras.layers.Dense,
    images: np.ndarray,
    probabilities: np.ndarray,
    labels: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns incoming activations, delta^2 and d loss / d net of a layer.

    Args:
        probabilities: `(examples, classes)`, for the expectation of delta^2.
    """
    inputs = float64(keras.Model(model.inputs[0], layer.input)(images))
    squares = 0.0
    for label in range(probabilities.shape[1]):
        delta = _deltas(model, layer, images, np.full(len(images), label, "int32"))
        squares += probabilities[:, label, None] * delta**2
    return inputs, squares, -_deltas(model, layer, images, labels)


def _deltas(model, layer, images, labels):
    """Returns d ln p(label | image) / d net, in the shape of the layer's output."""

    def log_likelihood(probe):
        with _added_to_net(layer, probe):
            logits = model(images, training=False)
        log_p = keras.ops.log_softmax(keras.ops.cast(logits, "float32"))
        return keras.ops.sum(keras.ops.take_along_axis(log_p, labels[:, None], 1))

    probe = keras.ops.zeros((len(images), *layer.output.shape[1:]), "float32")
    return float64(_gradient(log_likelihood, probe))


@contextlib.contextmanager
def _added_to_net(layer, probe) -> Iterator[None]:
    """Adds a tensor to the net input of a layer while the context is active."""
    # A new model from the layer to the logits would add Keras nodes to later layers.
    activation = layer.activation
    layer.activation = lambda net: activation(net + keras.ops.cast(probe, net.dtype))
    try:
        yield
    finally:
        layer.activation = activation


def _gradient(function, point):
    if keras.backend.backend() == "jax":
        import jax

        return jax.grad(function)(point)
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(point)
        value = function(point)
    return tape.gradient(value, point)


def float64(tensor: Any) -> np.ndarray:
    """Returns a tensor as a float64 array."""
    tensor = keras.ops.cast(tensor, "float32")  # NumPy has no bfloat16
    return np.asarray(keras.ops.convert_to_numpy(tensor), np.float64)
