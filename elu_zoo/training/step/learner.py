"""Model, optimizer and loss of a training step."""

import dataclasses
from collections.abc import Callable

import keras

from elu_zoo.evaluation.loss import Objective


@dataclasses.dataclass(frozen=True)
class Learner:
    """Model, optimizer and loss that a training step uses, created in a strategy's scope."""

    model: keras.Model  # its inputs are raw images or the augmentation's outputs
    optimizer: keras.optimizers.Optimizer
    objective: Objective
    batch_size: int  # number of examples in an iteration, over all replicas
    augmentation: Callable | None = None  # changes images by random numbers
