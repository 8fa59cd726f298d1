"""Evaluation of a model on a split, in float32."""

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.data.dataset import Split
from elu_zoo.evaluation.loss import Objective

if TYPE_CHECKING:
    from elu_zoo.data.encoded import EncodedSplit

_BATCH_SIZE = 1000
_PIXELS = 2**21  # largest number of pixels in a batch


class Evaluator:
    """Evaluates a float32 model of raw images 0..255, which is traced only once.

    Images of another shape than the model's raise a `UsageError`. `source` is the trained model
    if it differs from `model`; its weights are copied to `model` before each evaluation.
    """

    def __init__(self, model: keras.Model, objective: Objective, source: keras.Model | None = None):
        self._model = model
        self._objective = objective
        self._source = source
        self._forward = inference(model)

    def current(self) -> keras.Model:
        """Returns the float32 model with the current weights."""
        if self._source:
            self._model.set_weights(self._source.get_weights())
        return self._model

    def __call__(
        self, split: "Split | EncodedSplit", check: Callable[[], None] | None = None
    ) -> dict[str, float]:
        """Returns the loss and errors (percent, or squared); calls `check` before each batch."""
        return self._objective.measure(self._outputs(split, check))

    def of_images(self, split: "Split | EncodedSplit", measure: str) -> np.ndarray:
        """Returns one of the objective's measures for each image of a split, `(images,)`."""
        parts = self._outputs(split)
        return np.concatenate([self._objective.of_images(*part)[measure] for part in parts])

    def responses(
        self, split: "Split | EncodedSplit"
    ) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
        """Returns a classifier's measures, logits and labels on a split."""
        logits, labels = [], []

        def parts():
            for part, outputs in self._outputs(split):
                logits.append(outputs)
                labels.append(np.asarray(part.labels))
                yield part, outputs

        return self._objective.measure(parts()), np.concatenate(logits), np.concatenate(labels)

    def _outputs(
        self, split: "Split | EncodedSplit", check: Callable[[], None] | None = None
    ) -> Iterator:
        """Yields batches of the split, each with the model's outputs."""
        shape = tuple(self._model.input_shape[1:])
        if split.image_shape != shape:
            raise errors.UsageError(
                f"{self._model.name} needs images of shape {shape}. Received: {split.image_shape}."
            )
        self.current()
        size = min(_BATCH_SIZE, _PIXELS // math.prod(split.image_shape[:2]))
        for part in split.parts(max(1, size)):
            if check:
                check()
            images = keras.ops.cast(part.images, "float32")
            yield part, np.asarray(self._forward(images))


def inference(model: keras.Model) -> Callable[[np.ndarray], Any]:
    """Returns a function from float32 images to a model's outputs.

    On TensorFlow, the traced function is equal for every strategy and does not use XLA.
    Evaluations during and after training are therefore bit-identical.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        shape = [None, *model.input_shape[1:]]

        @tf.function(input_signature=[tf.TensorSpec(shape, tf.float32)])
        def call(images):
            return model(images, training=False)

        return call
    import jax

    # By default, accelerators multiply with less precision than float32.
    return jax.default_matmul_precision("float32")(model.predict_on_batch)
