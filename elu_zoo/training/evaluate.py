"""Loss and error of a model on a split."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.data.sources import Split

BATCH_SIZE = 1000


class Evaluator:
    """Evaluates one model, compiled once.

    Args:
        model: takes raw images, returns logits.
        loss: `(labels, logits) -> (batch,)`.
    """

    def __init__(self, model: keras.Model, loss: Callable):
        self._model = model
        self._loss = loss
        self._forward = _forward(model)

    def logits(self, images: np.ndarray) -> np.ndarray:
        """Returns the model's output for `(n, height, width, channels)` images."""
        shape = tuple(self._model.input_shape[1:])
        if tuple(images.shape[1:]) != shape:
            raise errors.UsageError(
                f"{self._model.name} takes images of shape {shape}. Received: "
                f"{tuple(images.shape[1:])}."
            )
        parts = [
            np.asarray(self._forward(images[i : i + BATCH_SIZE].astype(np.float32)))
            for i in range(0, len(images), BATCH_SIZE)
        ]
        return np.concatenate(parts)

    def __call__(self, split: Split) -> dict[str, float]:
        """Returns the mean `loss` and the `error_percent` on a split."""
        logits = self.logits(split.images)
        losses = np.asarray(self._loss(split.labels, logits), np.float64)
        wrong = int((logits.argmax(1) != split.labels).sum())
        return {
            "loss": float(losses.mean()),
            "error_percent": 100 * wrong / len(split.labels),
        }


def _forward(model: keras.Model) -> Callable[[np.ndarray], Any]:
    if keras.backend.backend() == "tensorflow":
        from elu_zoo.training import tf_step

        return tf_step.forward(model, tuple(model.input_shape[1:]))
    return lambda images: model.predict_on_batch(images)
