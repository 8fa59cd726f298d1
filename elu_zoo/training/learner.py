"""Model, optimizer and loss: what a training step needs of a run."""

import dataclasses
from collections.abc import Callable

import keras

from elu_zoo.training.loss import Objective


@dataclasses.dataclass(frozen=True)
class Learner:
    """Model, optimizer and loss of a training step.

    Attributes:
        model: takes raw images, or the augmentation's output.
        optimizer: built for the model's variables, in the same strategy scope.
        objective: the loss, and the terms that are minimised with it.
        batch_size: examples of an iteration, over all replicas.
        augmentation: a function of images and random numbers, or None.
    """

    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    objective: Objective
    batch_size: int
    augmentation: Callable | None = None
