"""What a model measures on a split, always computed in float32."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.data.sources import Split
from elu_zoo.training.objective import Objective

BATCH_SIZE = 1000


class Evaluator:
    """Evaluates one model, compiled once.

    Args:
        model: takes raw images.
        objective: of the model's outputs.
        source: the model whose weights are measured, where that is another one of
            the same layers, which trains in reduced precision.
    """

    def __init__(
        self,
        model: keras.Model,
        objective: Objective,
        source: keras.Model | None = None,
    ):
        self._model = model
        self._objective = objective
        self._source = source
        self._forward = _forward(model)

    def outputs(self, images: np.ndarray) -> np.ndarray:
        """Returns the model's output for `(n, height, width, channels)` images."""
        shape = tuple(self._model.input_shape[1:])
        if tuple(images.shape[1:]) != shape:
            raise errors.UsageError(
                f"{self._model.name} takes images of shape {shape}. Received: "
                f"{tuple(images.shape[1:])}."
            )
        if self._source:
            self._model.set_weights(self._source.get_weights())
        parts = [
            np.asarray(self._forward(images[i : i + BATCH_SIZE].astype(np.float32)))
            for i in range(0, len(images), BATCH_SIZE)
        ]
        return np.concatenate(parts)

    def __call__(self, split: Split) -> dict[str, float]:
        """Returns the objective's measures on a split."""
        return self._objective.measure(split, self.outputs(split.images))


def _forward(model: keras.Model) -> Callable[[np.ndarray], Any]:
    if keras.backend.backend() == "tensorflow":
        from elu_zoo.training import tf_step

        return tf_step.forward(model, tuple(model.input_shape[1:]))
    if keras.backend.backend() == "jax":
        import jax

        return jax.default_matmul_precision("float32")(model.predict_on_batch)
    return model.predict_on_batch
