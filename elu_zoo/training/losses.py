"""Losses by name: one value for each example, which the trainer averages."""

import keras

from elu_zoo import errors


def softmax_cross_entropy(labels, logits):
    """Returns -log softmax(logits)[label], in nats, of shape `(batch,)`.

    Args:
        labels: integer class of each example, `(batch,)`.
        logits: `(batch, num_classes)`.
    """
    return keras.ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)


LOSSES = {"softmax_cross_entropy": softmax_cross_entropy}


def get(name: str):
    """Returns a loss by name.

    Raises:
        UsageError: no loss has this name.
    """
    if name not in LOSSES:
        raise errors.unknown("loss", name, LOSSES)
    return LOSSES[name]
