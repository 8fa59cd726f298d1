"""The parts of a run that a training step computes with."""

import dataclasses
from collections.abc import Callable

import keras

from elu_zoo.training.loss import Objective


@dataclasses.dataclass(frozen=True)
class Learner:
    """Model, optimizer and loss of a training step.

    Attributes:
        model: takes what the augmentation returns, raw images where there is none.
        optimizer: built for the model's variables, in the same strategy scope.
        objective: the loss, and the terms that are minimised with it.
        batch_size: examples of an iteration, over all replicas.
        augmentation: a function of images and draws, applied before the model.
    """

    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    objective: Objective
    batch_size: int
    augmentation: Callable | None = None
