"""Losses by name: one value for each example, which the trainer averages."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras

from elu_zoo import errors


def softmax_cross_entropy(labels, logits):
    """Returns -log softmax(logits)[label], in nats, of shape `(batch,)`.

    Args:
        labels: integer class of each example, `(batch,)`.
        logits: `(batch, num_classes)`.
    """
    return keras.ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)


def smoothing(labels, logits):
    """Returns what smoothing labels wholly adds to their cross entropy, `(batch,)`.

    Of targets (1 - s) * label + s * uniform the softmax cross entropy is that of the
    labels, plus s times this: logit of the label - mean of all logits (Szegedy et al.,
    2016).

    Args:
        labels: integer class of each example, `(batch,)`.
        logits: `(batch, num_classes)`.
    """
    own = keras.ops.one_hot(labels, logits.shape[-1], dtype=logits.dtype)
    return keras.ops.sum(own * logits, axis=-1) - keras.ops.mean(logits, axis=-1)


def squared_hinge(labels, scores):
    """Returns the sum over classes of max(0, 1 - t z)^2, one against all, `(batch,)`.

    Args:
        labels: integer class of each example, `(batch,)`.
        scores: z, `(batch, num_classes)`; t is 1 for the label's, else -1.
    """
    own = keras.ops.one_hot(labels, scores.shape[-1], dtype=scores.dtype)
    margins = keras.ops.maximum(1 - (2 * own - 1) * scores, 0)
    return keras.ops.sum(keras.ops.square(margins), axis=-1)


def sigmoid_cross_entropy(pixels, logits):
    """Returns the sum of -t log s(z) - (1 - t) log(1 - s(z)), in nats, `(batch,)`.

    Args:
        pixels: t, each in [0, 1], `(batch, height, width, channels)`.
        logits: z, of the same shape; s is the sigmoid.
    """
    # max(z, 0) - z t + log(1 + exp(-|z|)): no exponential overflows. With `where`,
    # not abs and relu, the derivative at 0 is 1/2 - t as everywhere around it.
    positive = logits >= 0
    maximum = keras.ops.where(positive, logits, 0.0)
    exponential = keras.ops.exp(keras.ops.where(positive, -logits, logits))
    return _sum(maximum - logits * pixels + keras.ops.log1p(exponential))


def half_squared_error(pixels, outputs):
    """Returns half the sum of (y - t)^2, of shape `(batch,)`.

    Args:
        pixels: t, `(batch, height, width, channels)`.
        outputs: y, of the same shape.
    """
    return 0.5 * _sum(keras.ops.square(outputs - pixels))


def _sum(values):
    return keras.ops.sum(values, axis=tuple(range(1, len(values.shape))))


@dataclasses.dataclass(frozen=True)
class Loss:
    """A loss and what it compares.

    Attributes:
        function: `(targets, outputs) -> (batch,)`.
        of_images: the targets are the preprocessed images, not the labels.
    """

    function: Callable[[Any, Any], Any]
    of_images: bool


LOSSES = {
    "softmax_cross_entropy": Loss(softmax_cross_entropy, of_images=False),
    "squared_hinge": Loss(squared_hinge, of_images=False),
    "sigmoid_cross_entropy": Loss(sigmoid_cross_entropy, of_images=True),
    "half_squared_error": Loss(half_squared_error, of_images=True),
}


def get(name: str) -> Loss:
    """Returns a loss by name.

    Raises:
        UsageError: no loss has this name.
    """
    if name not in LOSSES:
        raise errors.unknown("loss", name, LOSSES)
    return LOSSES[name]
