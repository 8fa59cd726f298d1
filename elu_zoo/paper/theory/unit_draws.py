"""Incoming activations and deltas of a dense layer."""

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from elu_zoo import errors

_VALUES = 2**26  # largest number of layer outputs in one batch, which limits memory


def parts(model: keras.Model, count: int) -> list[slice]:
    """Returns slices of `count` images, each with at most `_VALUES` layer outputs."""
    outputs = keras.tree.flatten([layer.output for layer in model.layers])
    size = max(1, _VALUES // sum(math.prod(tensor.shape[1:]) for tensor in outputs))
    return [slice(a, min(a + size, count)) for a in range(0, count, size)]


def collect(
    model: keras.Model,
    layer: keras.layers.Dense,
    images: np.ndarray,
    probabilities: np.ndarray,
    labels: np.ndarray | None,
) -> list[np.ndarray | None]:
    """Returns incoming activations, delta^2 and d loss / d net of a layer.

    Args:
        model: model from images to logits.
        layer: a layer of the model, whose input is `(examples, d)`.
        images: `(examples, height, width, channels)`.
        probabilities: `(examples, classes)`, for the expectation of delta^2.
        labels: labels of the loss, `(examples,)`; None for no loss.

    Returns:
        `(examples, d)`, `(examples, units)`, and `(examples, units)` or None without
        labels.
    """
    before = keras.Model(model.inputs[0], layer.input)
    inputs, squares, losses = [], [], []
    for part in parts(model, len(images)):
        own, p = images[part], probabilities[part]
        inputs.append(float64(before(own)))
        expected = 0.0
        for label in range(p.shape[1]):
            delta = _deltas(model, layer, own, np.full(len(own), label, "int32"))
            expected += p[:, label, None] * delta**2
        squares.append(expected)
        if labels is not None:
            losses.append(-_deltas(model, layer, own, labels[part]))
    return [np.concatenate(x) if x else None for x in (inputs, squares, losses)]


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
    activation, calls = layer.activation, []

    def activation_of_sum(net):
        calls.append(1)
        return activation(keras.ops.add(net, keras.ops.cast(probe, net.dtype)))

    layer.activation = activation_of_sum
    try:
        yield
    finally:
        layer.activation = activation
    if len(calls) != 1:
        raise errors.UsageError(
            f"Layer {layer.name!r} is used {len(calls)} times. Remove it from `layers`."
        )


def _gradient(function: Callable, point: Any) -> Any:
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(point)
            value = function(point)
        return tape.gradient(value, point)
    if backend == "jax":
        import jax

        return jax.grad(function)(point)
    raise errors.UsageError(f"The backend must be tensorflow or jax, not {backend}.")


def float64(tensor: Any) -> np.ndarray:
    """Returns a tensor as a float64 array."""
    tensor = keras.ops.cast(tensor, "float32")  # NumPy has no bfloat16
    return np.asarray(keras.ops.convert_to_numpy(tensor), np.float64)
