"""The weights with the lowest validation loss, which `train.keep_best` keeps."""

from typing import TYPE_CHECKING

import keras
import numpy as np

if TYPE_CHECKING:
    from elu_zoo.training.record.checkpoint import TrainState


class Best:
    """A copy of a model's weights at the lowest validation loss so far.

    The copies are variables, so that checkpoints hold and restore them too.
    """

    def __init__(self, model: keras.Model):
        self._model = model
        self.variables = [
            keras.Variable(np.array(v), dtype=v.dtype, trainable=False, name=v.name)
            for v in model.variables
        ]

    def update(self, state: "TrainState", loss: float) -> None:
        """Copies the weights if their validation loss is the lowest so far."""
        if not state.best_step or loss < state.best_loss:
            state.best_step, state.best_loss = state.step, loss
            for copy, variable in zip(self.variables, self._model.variables, strict=True):
                copy.assign(np.array(variable))

    def restore(self) -> None:
        """Assigns the copies to the model, after the last iteration."""
        for copy, variable in zip(self.variables, self._model.variables, strict=True):
            variable.assign(np.array(copy))
