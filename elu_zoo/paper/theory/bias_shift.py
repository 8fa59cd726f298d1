"""Bias shifts of the units of a classifier (paper, section 2).

The symbols a, b, c, k, s, p, q, E_p, E_q, delta and F are those of
`elu_zoo.paper.theory.natural_gradient`.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.paper.theory import unit_draws

_LARGEST = 0.1  # fraction of the covariances of which `positive_share` is measured


@dataclasses.dataclass(frozen=True, eq=False)
class BiasShift:
    """Measures of each unit of a layer, as arrays of float64 with shape `(units,)`.

    A dead unit, whose deltas are all 0, has no distribution q: its measures that need q
    are NaN.

    Attributes:
        k: factor of the correction (Theorem 2).
        weighted_mean_length: Euclidean length of E_q(a).
        mean_length: Euclidean length of E_p(a), equal for all units of a layer.
        input_correlation: mean absolute correlation over all pairs of incoming units
            that vary, equal for all units of a layer; NaN if there is no pair.
        delta2: E_p(delta^2).
        effective_draws: (sum of delta^2)^2 / sum of delta^4, the effective sample size
            of q. If this number is small, a few examples decide all measures.
        positive_share: fraction of positive components among the components of
            Cov_p(delta^2, a) with the largest absolute values. These are a tenth,
            rounded up, of the components whose incoming unit varies.
        uncorrected_shift: bias shift of the natural gradient without correction, which
            has b = 0 and s = 1 / c.
        shift: bias shift of the natural gradient.
        cosine: cosine of the angle between gradient and natural gradient, NaN for a
            gradient of 0.
    """

    k: np.ndarray
    weighted_mean_length: np.ndarray
    mean_length: np.ndarray
    input_correlation: np.ndarray
    delta2: np.ndarray
    effective_draws: np.ndarray
    positive_share: np.ndarray
    uncorrected_shift: np.ndarray
    shift: np.ndarray
    cosine: np.ndarray


def bias_shift(
    model: keras.Model, images: Any, labels: Any, *, layers: Sequence[str], damping: float
) -> dict[str, BiasShift]:
    """Returns bias shifts and related measures of each unit, by layer (Theorem 2).

    The loss is the mean cross-entropy of `labels`. delta^2 is the expectation over the
    model's softmax. A bias shift is the change of the unit's mean net input when the
    natural gradient is added to the unit's weights. A training step with learning rate
    eta changes the mean by -eta times this number.

    The model is unchanged afterwards, but no other thread may use the model meanwhile.

    Args:
        model: model with one input and one output, the logits `(batch, classes)`.
        images: `(examples, height, width, channels)`, as the model takes images. They
            are computed as one batch.
        labels: class of each image, integers `(examples,)`.
        layers: names of `Dense` layers with a bias, each used once by the model.
        damping: > 0, variance of imaginary noise on each incoming activation.
            Var_q(a) + damping * identity replaces Var_q(a) everywhere, so that the
            bias row of F is unchanged, and units that are 0 or constant have an inverse.

    Returns:
        The measures by layer name, in the order of `layers`.
    """
    errors.check_number("damping", damping, errors.POSITIVE)
    images, labels = np.asarray(images), np.asarray(labels, "int32")
    logits = unit_draws.float64(model(images, training=False))
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = odds / odds.sum(axis=1, keepdims=True)
    measures = {}
    for name in layers:
        layer = model.get_layer(name)
        if not isinstance(layer, keras.layers.Dense) or not layer.use_bias:
            raise errors.UsageError(f"Layer {name!r} is not a Dense layer with a bias.")
        inputs, squares, losses = unit_draws.collect(model, layer, images, p, labels)
        measures[name] = _of_layer(inputs, squares, losses, damping)
    return measures


def _of_layer(inputs, squares, losses, damping) -> BiasShift:
    """Returns the measures of a layer from the arrays that `collect` returns."""
    count, units = squares.shape
    delta2 = squares.mean(axis=0)
    alive = delta2 > 0  # dead units are computed like the others, then set to NaN
    c, noise = np.where(alive, [delta2, damping * delta2], 1)
    mean = inputs.mean(axis=0)
    b = inputs.T @ squares / count
    g, g_0 = inputs.T @ losses / count, losses.mean(axis=0)
    a_g, a_b = _solve(inputs, squares, noise, np.stack([g, b], axis=2))
    # The last factor is the fraction of the bias unit that the incoming units do not
    # explain.
    s = 1 / (c * (1 - (b * a_b).sum(axis=0) / c))
    update_0 = s * (g_0 - (b * a_g).sum(axis=0))
    update = a_g - update_0 * a_b
    spread = np.maximum(((squares / c) ** 2).mean(axis=0), 1)
    nan_mask = np.where(alive, 1, np.nan)
    return BiasShift(
        k=nan_mask * c * s * (1 - mean @ a_b),
        weighted_mean_length=nan_mask * np.linalg.norm(b, axis=0) / c,
        mean_length=np.full(units, np.linalg.norm(mean)),
        input_correlation=np.full(units, _correlation(inputs)),
        delta2=delta2,
        effective_draws=nan_mask * count / spread,
        positive_share=nan_mask * _positive_share(inputs, squares),
        uncorrected_shift=nan_mask * (mean @ a_g + g_0 / c),
        shift=nan_mask * (mean @ update + update_0),
        cosine=nan_mask * _cosine(np.vstack([g, g_0]), np.vstack([update, update_0])),
    )


def _solve(inputs, squares, noise, right):
    """Returns (A_u + noise_u * identity)^-1 right_u of each unit u, by right side."""
    identity, result = np.eye(inputs.shape[1]), np.empty_like(right)
    for unit, square in enumerate(squares.T):
        matrix = (inputs.T * square) @ inputs / len(inputs) + noise[unit] * identity
        result[:, unit] = np.linalg.solve(matrix, right[:, unit])
    return np.moveaxis(result, 2, 0)


def _positive_share(inputs, squares):
    covariance = (squares - squares.mean(axis=0)).T @ (inputs - inputs.mean(axis=0))
    varying = (np.ptp(inputs, axis=0) > 0).sum()
    count = max(1, math.ceil(_LARGEST * varying))
    order = np.argsort(-np.abs(covariance), axis=1)[:, :count]
    return (np.take_along_axis(covariance, order, axis=1) > 0).mean(axis=1)


def _cosine(first, second):
    """Returns the cosine of the angle between columns, NaN if a column is 0."""
    lengths = np.linalg.norm(first, axis=0) * np.linalg.norm(second, axis=0)
    unknown = np.full(len(lengths), np.nan)
    return np.divide((first * second).sum(axis=0), lengths, unknown, where=lengths > 0)


def _correlation(inputs):
    varying = inputs[:, np.ptp(inputs, axis=0) > 0]
    if varying.shape[1] < 2:
        return np.nan
    sizes = np.abs(np.corrcoef(varying, rowvar=False))
    return sizes[~np.eye(len(sizes), dtype=bool)].mean()
