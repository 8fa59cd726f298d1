"""The parts of a run, and its length."""

import dataclasses
from typing import Any

import keras
from ml_collections import ConfigDict

from elu_zoo.data import batches
from elu_zoo.data.sources import ImageData, Split
from elu_zoo.training.augmentation import Augmentation
from elu_zoo.training.compilation import Compilation
from elu_zoo.training.evaluate import Evaluator
from elu_zoo.training.phases import Phases


@dataclasses.dataclass(frozen=True)
class Length:
    """The length of a run.

    Attributes:
        examples: training examples.
        batch_size: examples of an iteration, over all replicas.
        epochs: passes through the examples.

    Raises:
        DataError: the examples do not fill one batch.
    """

    examples: int
    batch_size: int
    epochs: int

    @property
    def steps_per_epoch(self) -> int:
        """Iterations of an epoch."""
        return batches.steps_per_epoch(self.examples, self.batch_size)

    @property
    def total(self) -> int:
        """Iterations of the run."""
        return self.steps_per_epoch * self.epochs


@dataclasses.dataclass(frozen=True)
class Run:
    """The parts of a run.

    Attributes:
        seed: of all random numbers.
        train: the config's entry `train`.
        length: examples, epochs and iterations.
        data: the data set.
        validation: examples that are measured after epochs; None for none.
        preprocessing: of the network's images.
        model: the trained network.
        optimizer: of the model.
        phases: what layers do in which iterations.
        augmentation: random changes of training images; None for none.
        compilation: how the step is compiled.
        step: the training step, such as a `step_resident.ResidentStep`.
        evaluator: measures the model.
    """

    seed: int
    train: ConfigDict
    length: Length
    data: ImageData
    validation: Split | None
    preprocessing: dict[str, Any]
    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    phases: Phases
    augmentation: Augmentation | None
    compilation: Compilation
    step: Any
    evaluator: Evaluator

    @property
    def variables(self) -> list[Any]:
        """The variables of model and optimizer, in the order of checkpoints."""
        return [*self.model.variables, *self.optimizer.variables]
