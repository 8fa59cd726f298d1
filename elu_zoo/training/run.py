"""Parts of a run, and its length."""

import dataclasses
from typing import Any

import keras
from ml_collections import ConfigDict

from elu_zoo.data import order
from elu_zoo.data.dataset import ImageData, Split
from elu_zoo.training.augmentation import Augmentation
from elu_zoo.training.compilation import Compilation
from elu_zoo.training.evaluate import Evaluator
from elu_zoo.training.phases import Phases
from elu_zoo.weights.pretrained import Pretrained


@dataclasses.dataclass(frozen=True)
class Length:
    """Length of a run, in examples, epochs and iterations."""

    examples: int
    batch_size: int  # over all replicas
    epochs: int

    @property
    def steps_per_epoch(self) -> int:
        """Iterations of an epoch; see `order.steps_per_epoch`."""
        return order.steps_per_epoch(self.examples, self.batch_size)

    @property
    def total(self) -> int:
        """Iterations of the run."""
        return self.steps_per_epoch * self.epochs


@dataclasses.dataclass(frozen=True)
class Run:
    """Parts of a run, built from its config."""

    seed: int
    train: ConfigDict  # the config's section `train`
    length: Length
    data: ImageData
    validation: Split | None  # measured after epochs
    preprocessing: dict[str, Any]
    model: keras.Model
    optimizer: keras.optimizers.Optimizer
    phases: Phases
    augmentation: Augmentation | None
    compilation: Compilation
    step: Any  # such as a `step_resident.ResidentStep`
    evaluator: Evaluator
    parent: Pretrained | None  # the weights that the run starts from

    @property
    def variables(self) -> list[Any]:
        """The variables of model and optimizer, in the order of checkpoints."""
        return [*self.model.variables, *self.optimizer.variables]
