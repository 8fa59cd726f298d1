"""Length of a run, and the objects that are built from the run's config."""

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from ml_collections import ConfigDict

from elu_zoo.data import order
from elu_zoo.data.dataset import ImageData, Split
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective
from elu_zoo.training.phases import Phases
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.weights.pretrained import Pretrained

if TYPE_CHECKING:
    from elu_zoo.training.record.activation_statistics import StatisticsOfModel
    from elu_zoo.training.step.augmentation import Augmentation


@dataclasses.dataclass(frozen=True)
class Length:
    """Length of a run, in examples, epochs and iterations."""

    examples: int
    batch_size: int  # examples per iteration, over all replicas
    epochs: int

    @property
    def steps_per_epoch(self) -> int:
        """Number of iterations in an epoch; see `order.steps_per_epoch`."""
        return order.steps_per_epoch(self.examples, self.batch_size)

    @property
    def total(self) -> int:
        """Number of iterations in the run."""
        return self.steps_per_epoch * self.epochs


@dataclasses.dataclass(frozen=True)
class Learner:
    """Model, optimizer and loss that a training step uses, created in a strategy's scope."""

    model: keras.Model  # its inputs are raw images or the augmentation's outputs
    optimizer: keras.optimizers.Optimizer
    objective: Objective
    batch_size: int  # number of examples in an iteration, over all replicas
    augmentation: Callable | None = None  # changes images by random numbers


class Best:
    """A copy of a model's weights at the lowest validation loss so far, saved in checkpoints."""

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


@dataclasses.dataclass(frozen=True)
class Run:
    """Objects of a run, built from its config."""

    seed: int
    train: ConfigDict  # the config's section `train`
    length: Length
    data: ImageData
    validation: Split | None  # None if the run trains on the validation images
    preprocessing: dict[str, Any]
    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    phases: Phases
    augmentation: "Augmentation | None"
    compilation: Compilation
    step: Any  # a training step, such as `resident.ResidentStep`
    evaluator: Evaluator
    parent: Pretrained | None  # pretrained weights from which the run starts
    best: Best | None = None  # the weights to keep instead of the last ones

    @property
    def variables(self) -> list[Any]:
        """Variables of model and optimizer, in the order of checkpoints."""
        best = self.best.variables if self.best else ()
        return [*self.model.variables, *self.optimizer.variables, *best]

    @functools.cached_property
    def unit_statistics(self) -> "StatisticsOfModel":
        """Statistics of the units of the evaluator's model, which is traced only once."""
        from elu_zoo.training.record.activation_statistics import StatisticsOfModel

        return StatisticsOfModel(self.evaluator.current())
