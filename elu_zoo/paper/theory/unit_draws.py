"""Draws of a layer's incoming activations and deltas.

A draw is an image and a position. In a dense layer an image has one position. In a
convolution the positions of an image are those of the layer's output.
"""

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


def positions(layer: keras.Layer, images: int, draws: int, seed: int) -> np.ndarray:
    """Returns the sorted numbers of the chosen draws, counted over all images.

    Args:
        layer: `Dense` or `Conv2D`.
        images: number of images.
        draws: largest number of draws.
        seed: seed of the choice, >= 0.
    """
    total = images * math.prod(layer.output.shape[1:-1])
    if total <= draws:
        return np.arange(total)
    generator = np.random.Generator(np.random.Philox([seed, 1]))
    return np.sort(generator.choice(total, draws, replace=False))


def collect(
    model: keras.Model,
    layer: keras.Layer,
    images: np.ndarray,
    probabilities: np.ndarray,
    labels: np.ndarray | None,
    chosen: np.ndarray,
) -> list[np.ndarray | None]:
    """Returns incoming activations, delta^2 and d loss / d net of chosen draws.

    Args:
        model: model from images to logits.
        layer: a layer of the model, `Dense` or `Conv2D`.
        images: `(examples, height, width, channels)`.
        probabilities: `(examples, classes)`, for the expectation of delta^2.
        labels: labels of the loss, `(examples,)`; None for no loss.
        chosen: numbers of the draws, as `positions` returns them.

    Returns:
        `(chosen, d)`, `(chosen, units)`, and `(chosen, units)` or None without labels.
    """
    before = keras.Model(model.inputs[0], layer.input)
    size = math.prod(layer.output.shape[1:-1])
    inputs, squares, losses = [], [], []
    for part in parts(model, len(images)):
        in_part = chosen - part.start * size
        in_part = in_part[(in_part >= 0) & (in_part < (part.stop - part.start) * size)]
        if not len(in_part):
            continue

        def deltas(labels, part=part, in_part=in_part):
            derivatives = _deltas(model, layer, images[part], labels[part])
            return derivatives.reshape(-1, derivatives.shape[-1])[in_part]

        inputs.append(_incoming(layer, float64(before(images[part])), in_part))
        image = in_part // size
        expected = 0.0
        for label, p in enumerate(probabilities.T):
            delta = deltas(np.full(len(images), label, "int32"))
            expected += p[part][image, None] * delta**2
        squares.append(expected)
        if labels is not None:
            losses.append(-deltas(labels))
    return [np.concatenate(x) if x else None for x in (inputs, squares, losses)]


def _incoming(layer, maps, chosen):
    """Returns the incoming activations of chosen draws, `(chosen, d)`."""
    if isinstance(layer, keras.layers.Dense):
        return maps.reshape(-1, maps.shape[-1])[chosen]
    image, *position = np.unravel_index(chosen, (len(maps), *layer.output.shape[1:-1]))
    margins, where = [], []
    for axis in range(2):
        stride, size = layer.strides[axis], maps.shape[1 + axis]
        taps = np.arange(layer.kernel_size[axis]) * layer.dilation_rate[axis]
        end = (layer.output.shape[1 + axis] - 1) * stride + taps[-1] + 1
        missing = max(0, end - size)  # zeros of padding="same"
        margins.append((missing // 2, missing - missing // 2))
        where.append(position[axis][:, None] * stride + taps)
    maps = np.pad(maps, [(0, 0), *margins, (0, 0)])
    rows, columns = where
    patches = maps[image[:, None, None], rows[:, :, None], columns[:, None]]
    return patches.reshape(len(chosen), -1)


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
