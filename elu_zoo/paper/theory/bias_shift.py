"""Bias shifts of the units of a classifier (paper, section 2).

The symbols a, b, c, k, s, p, q, E_p, E_q, delta and F are those of
`elu_zoo.paper.theory.natural_gradient`.
"""

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.paper.theory import natural_gradient


@dataclasses.dataclass(frozen=True, eq=False)
class BiasShift:
    """Measures of each unit of a layer, as arrays of float64 with shape `(units,)`.

    For a dead unit, whose deltas are all 0, all measures except `mean_length` are NaN.

    Attributes:
        k: factor of the correction (Theorem 2).
        weighted_mean_length: Euclidean length of E_q(a).
        mean_length: Euclidean length of E_p(a), equal for all units of a layer.
        effective_draws: (sum of delta^2)^2 / sum of delta^4, the effective sample size
            of q. If this number is small, a few examples decide all measures.
        positive_share_5: fraction of positive components among the components of
            Cov_p(delta^2, a) with the largest absolute values. These are 5 %, rounded up,
            of the components whose incoming unit varies.
        positive_share_10, positive_share_20: the same for the largest 10 % and 20 %.
        shift: bias shift of the natural gradient.
        uncorrected_shift: the bias shift with b = 0 and s = 1 / c.
        cosine: cosine of the angle between gradient and natural gradient, NaN for a gradient of 0.
    """

    k: np.ndarray
    weighted_mean_length: np.ndarray
    mean_length: np.ndarray
    effective_draws: np.ndarray
    positive_share_5: np.ndarray
    positive_share_10: np.ndarray
    positive_share_20: np.ndarray
    shift: np.ndarray
    uncorrected_shift: np.ndarray
    cosine: np.ndarray


def bias_shift(
    model: keras.Model, images: Any, labels: Any, *, layers: list[str], dampings: Sequence[float]
) -> dict[str, list[BiasShift]]:
    """Returns bias shifts and related measures, by layer and damping (section 2, Theorem 2).

    The loss is the mean cross-entropy of `labels`. delta^2 is the expectation over the model's
    softmax. A bias shift is the change of the unit's mean net input when the natural gradient is
    added to the unit's weights. No other thread may use the model meanwhile.

    Args:
        model: model with one input and one output, the logits `(batch, classes)`.
        images: `(examples, height, width, channels)`, computed as one batch.
        labels: class of each image, integers `(examples,)`.
        layers: names of `Dense` layers with a bias, each used once by the model.
        dampings: > 0, variances of imaginary noise on each incoming activation.
            Var_q(a) + damping * identity replaces Var_q(a) everywhere, so that the
            bias row of F is unchanged, and units that are 0 or constant have an inverse.

    Raises:
        UsageError: a damping is not > 0, or a layer is not `Dense` with a bias.
    """
    for damping in dampings:
        errors.check_number("damping", damping, errors.POSITIVE)
    images, labels = np.asarray(images), np.asarray(labels, "int32")
    logits = float64(model(images, training=False))
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = odds / odds.sum(axis=1, keepdims=True)
    measures = {}
    for name in layers:
        layer = model.get_layer(name)
        if not isinstance(layer, keras.layers.Dense) or not layer.use_bias:
            raise errors.UsageError(f"Layer {name!r} is not a Dense layer with a bias.")
        inputs = float64(keras.Model(model.inputs[0], layer.input)(images))
        squares = 0.0
        for label in range(p.shape[1]):
            delta = deltas(model, layer, images, np.full_like(labels, label))
            squares += p[:, label, None] * delta**2
        losses = -deltas(model, layer, images, labels)
        measures[name] = _of_layer(inputs, squares, losses, dampings)
    return measures


def _of_layer(inputs, squares, losses, dampings) -> list[BiasShift]:
    """Returns measures from incoming activations, expected delta^2 and d loss / d net."""
    units = [_of_unit(inputs, *unit, dampings) for unit in zip(squares.T, losses.T, strict=True)]
    fields = [field.name for field in dataclasses.fields(BiasShift)]
    return [
        BiasShift(*(np.array([unit.get(name, np.nan) for unit in damped]) for name in fields))
        for damped in zip(*units, strict=True)
    ]


def _of_unit(inputs, square, loss, dampings) -> list[dict[str, float]]:
    """Returns a unit's measures by name, for each damping; a dead unit has only one."""
    if not square.any():
        return [{"mean_length": np.linalg.norm(inputs.mean(axis=0))}] * len(dampings)
    unit, measures = natural_gradient.moments(inputs, np.sqrt(square)), []
    gradient = np.append(inputs.T @ loss / len(inputs), loss.mean())
    for damping in dampings:
        found = natural_gradient.natural_gradient(unit, gradient, damping=damping)
        update = np.append(found.weights, found.bias)
        lengths = np.linalg.norm(gradient) * np.linalg.norm(update)
        measures.append({
            "k": found.k,
            "mean_length": np.linalg.norm(unit.mean),
            "weighted_mean_length": np.linalg.norm(unit.weighted_mean),
            "effective_draws": square.sum() ** 2 / (square**2).sum(),
            **_positive_shares(inputs, unit.covariance),
            "uncorrected_shift": found.uncorrected_shift,
            "shift": found.shift_from_means,
            "cosine": gradient @ update / lengths if lengths else np.nan,
        })  # fmt: skip
    return measures


def _positive_shares(inputs, covariance) -> dict[str, float]:
    varying, order = (np.ptp(inputs, axis=0) > 0).sum(), np.argsort(-np.abs(covariance))
    counts = {percent: max(1, math.ceil(percent * varying / 100)) for percent in (5, 10, 20)}
    return {f"positive_share_{x}": (covariance[order[:n]] > 0).mean() for x, n in counts.items()}


def deltas(
    model: keras.Model, layer: keras.layers.Dense, images: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Returns d ln p(label | image) / d net, in the shape of the layer's output."""

    def log_likelihood(probe):
        with _added_to_net(layer, probe):
            logits = model(images, training=False)
        log_p = keras.ops.log_softmax(keras.ops.cast(logits, "float32"))
        return keras.ops.sum(keras.ops.take_along_axis(log_p, labels[:, None], 1))

    probe = keras.ops.zeros((len(images), *layer.output.shape[1:]), "float32")
    if keras.backend.backend() == "jax":
        import jax

        return float64(jax.grad(log_likelihood)(probe))
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(probe)
        value = log_likelihood(probe)
    return float64(tape.gradient(value, probe))


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


def float64(tensor: Any) -> np.ndarray:
    """Returns a tensor as a float64 array."""
    tensor = keras.ops.cast(tensor, "float32")  # NumPy has no bfloat16
    return np.asarray(keras.ops.convert_to_numpy(tensor), np.float64)
