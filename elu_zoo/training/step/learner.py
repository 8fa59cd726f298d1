"""Model, optimizer and loss of a training step."""

import dataclasses
from collections.abc import Callable

import keras

from elu_zoo.evaluation.loss import Objective


@dataclasses.dataclass(frozen=True)
class Learner:
    """Model, optimizer and loss that a training step uses.

    Attributes:
        model: the model, whose inputs are raw images or the augmentation's outputs.
        optimizer: the optimizer, built in the strategy scope of the model.
        objective: the loss function, with label smoothing.
        batch_size: number of examples in an iteration, over all replicas.
        augmentation: the function that changes images by random numbers, or None.
    """

    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    objective: Objective
    batch_size: int
    augmentation: Callable | None = None
