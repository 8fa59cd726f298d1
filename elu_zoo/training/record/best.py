"""The weights with the lowest validation loss, which `train.keep_best` keeps."""

import keras
import numpy as np


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

    def copy(self) -> None:
        """Copies the weights of the model."""
        for copy, variable in zip(self.variables, self._model.variables, strict=True):
            copy.assign(np.array(variable))

    def restore(self) -> None:
        """Assigns the copies to the model, after the last iteration."""
        for copy, variable in zip(self.variables, self._model.variables, strict=True):
            variable.assign(np.array(copy))
