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
from elu_zoo.paper.theory import natural_gradient, unit_draws

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
            has b = 0 and s = 1 / c; None without labels.
        shift: bias shift of the natural gradient; None without labels.
        cosine: cosine of the angle between gradient and natural gradient; None without
            labels, NaN for a gradient of 0.
    """

    k: np.ndarray
    weighted_mean_length: np.ndarray
    mean_length: np.ndarray
    input_correlation: np.ndarray
    delta2: np.ndarray
    effective_draws: np.ndarray
    positive_share: np.ndarray
    uncorrected_shift: np.ndarray | None
    shift: np.ndarray | None
    cosine: np.ndarray | None


def bias_shift(
    model: keras.Model,
    images: Any,
    *,
    labels: Any = None,
    layers: Sequence[str] | None = None,
    damping: float = 0.0,
) -> dict[str, BiasShift]:
    """Returns bias shifts and related measures of each unit, by layer (Theorem 2).

    The loss is the mean cross-entropy of `labels`. delta^2 is the expectation over the
    model's softmax. A bias shift is the change of the unit's mean net input when the
    natural gradient is added to the unit's weights. A training step with learning rate
    eta changes the mean by -eta times this number.

    If an incoming unit is 0 in all draws whose delta is not 0, its row of F is 0. Such
    a unit is left out, which is the limit of small damping. If F is still singular, for
    example because a unit is seldom active, damping is required.

    The model is unchanged afterwards, but no other thread may use the model meanwhile.

    Args:
        model: model with one input and one output, the logits `(batch, classes)`.
        images: `(examples, height, width, channels)`, as the model takes images.
        labels: class of each image, integers `(examples,)`; None for no bias shifts.
        layers: names of `Dense` layers with a bias; None for all of them.
        damping: >= 0, variance of imaginary noise on each incoming activation.
            Var_q(a) + damping * identity replaces Var_q(a) everywhere, so that the
            bias row of F is unchanged. As without damping, k is 1 if E_q(a) is 0 or
            equal to E_p(a).

    Returns:
        The measures by layer name, in the order of the model's layers.
    """
    images = np.asarray(images)
    errors.check_non_negative("damping", damping)
    selected = _select(model, layers)
    p = _probabilities(model, images)
    if labels is not None:
        labels = np.asarray(labels, "int32")
    measures = {}
    for layer in selected:
        collected = unit_draws.collect(model, layer, images, p, labels)
        try:
            measures[layer.name] = _of_layer(*collected, damping)
        except errors.UsageError as error:
            raise errors.UsageError(f"Layer {layer.name!r}: {error}") from error
    return measures


def _of_layer(inputs, squares, losses, damping) -> BiasShift:
    """Returns the measures of a layer from the arrays that `collect` returns."""
    count, units = squares.shape
    delta2 = squares.mean(axis=0)
    alive = delta2 > 0  # dead units are computed like the others, then set to NaN
    c, noise = np.where(alive, [delta2, damping * delta2], 1)
    mean = inputs.mean(axis=0)
    b = inputs.T @ squares / count
    g, g_0 = np.zeros_like(b), np.zeros(units)
    if losses is not None:
        g, g_0 = inputs.T @ losses / count, losses.mean(axis=0)
    right, deltas = np.stack([g, b], axis=2), np.sqrt(squares)
    solved = natural_gradient.solve_units(inputs, deltas, right, noise)
    a_g, a_b = solved[..., 0], solved[..., 1]
    # Fraction of the bias unit that the incoming units do not explain.
    unexplained = 1 - (b * a_b).sum(axis=0) / c
    if (unexplained < 1e-12).any():
        raise errors.UsageError("An incoming unit is constant. Pass damping > 0.")
    s = 1 / (c * unexplained)
    update_0 = s * (g_0 - (b * a_g).sum(axis=0))
    update = a_g - update_0 * a_b
    shift = mean @ update + update_0
    cosine = _cosine(np.vstack([g, g_0]), np.vstack([update, update_0]))
    spread = np.maximum(((squares / c) ** 2).mean(axis=0), 1)
    covariance = (squares - delta2).T @ (inputs - mean) / count
    largest_count = max(1, math.ceil(_LARGEST * (np.ptp(inputs, axis=0) > 0).sum()))
    order = np.argsort(-np.abs(covariance), axis=1)[:, :largest_count]
    largest = np.take_along_axis(covariance, order, axis=1)
    nan_mask = np.where(alive, 1, np.nan)
    return BiasShift(
        k=nan_mask * c * s * (1 - mean @ a_b),
        weighted_mean_length=nan_mask * np.linalg.norm(b, axis=0) / c,
        mean_length=np.full(units, np.linalg.norm(mean)),
        input_correlation=np.full(units, _correlation(inputs)),
        delta2=delta2,
        effective_draws=nan_mask * count / spread,
        positive_share=nan_mask * (largest > 0).mean(axis=1),
        uncorrected_shift=None if losses is None else nan_mask * (mean @ a_g + g_0 / c),
        shift=None if losses is None else nan_mask * shift,
        cosine=None if losses is None else nan_mask * cosine,
    )


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


def _select(model, names):
    reasons = {layer.name: _unfit(layer) for layer in model.layers}
    if names is None:
        names = [name for name, reason in reasons.items() if not reason]
    if isinstance(names, str) or not names:
        raise errors.UsageError(
            f"layers must be a list of names of Dense layers with a bias. Received: {names!r}."
        )
    for name in names:
        if name not in reasons:
            raise errors.unknown_name_error(f"layer of {model.name}", name, reasons)
        if reasons[name]:
            raise errors.UsageError(f"Layer {name!r} {reasons[name]}. Remove it from `layers`.")
    return [layer for layer in model.layers if layer.name in names]


def _unfit(layer) -> str:
    if not isinstance(layer, keras.layers.Dense) or len(layer.input.shape) != 2:
        return f"is {type(layer).__name__}, not Dense on vectors"
    if not layer.use_bias:
        return "has no bias, so that there is no bias shift correction"
    return ""


def _probabilities(model, images):
    parts = unit_draws.parts(model, len(images))
    logits = [unit_draws.float64(model(images[part], training=False)) for part in parts]
    logits = np.concatenate(logits)
    if not np.isfinite(logits).all():
        raise errors.UsageError("The model's logits for these images are not finite.")
    if (logits >= 0).all() and np.allclose(logits.sum(axis=1), 1, atol=1e-3):
        raise errors.UsageError(
            "The model returns probabilities. Pass a model without the softmax, which "
            "returns logits."
        )
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)
