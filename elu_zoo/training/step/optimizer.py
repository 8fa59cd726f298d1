"""Optimizers of runs: Muon, and SGD with the options of the paper's baselines."""

from collections.abc import Sequence
from typing import Any

import keras
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.training import schedules


class SGD(keras.optimizers.SGD):
    """Keras' SGD with factors on learning rates, and a momentum that rises linearly."""

    def __init__(
        self,
        momentum: float,
        nesterov: bool,
        factors: Sequence[float],
        first_momentum: float = 0.0,
        rise: int = 0,  # iterations until `momentum`; 0 for a constant momentum
    ):
        super().__init__(momentum=momentum, nesterov=nesterov)
        self._factors = factors
        self._first_momentum = first_momentum
        self._rise = rise

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        index = self._get_variable_index(variable)
        change = gradient * (learning_rate * self._factors[index])
        if not self.momentum:
            self.assign_sub(variable, change)
            return
        momentum = self._momentum()
        average = self.momentums[index]
        moved = average * momentum - change
        self.assign(average, moved)
        self.assign_add(variable, moved * momentum - change if self.nesterov else moved)

    def _momentum(self) -> Any:
        if not self._rise:
            return self.momentum
        # Checkpoints save `iterations`, so that a resumed run continues the rise.
        fraction = keras.ops.minimum(keras.ops.cast(self.iterations, "float32") / self._rise, 1.0)
        return self._first_momentum + fraction * (self.momentum - self._first_momentum)


def create(config: ConfigDict, model: keras.Model, iterations: int) -> keras.optimizers.Optimizer:
    """Creates and builds the optimizer of a config."""
    is_muon = config.train.optimizer == "muon"
    optimizer = _muon(config) if is_muon else _sgd(config.train, model, iterations)
    optimizer.build(model.trainable_variables)
    return optimizer


def _muon(config: ConfigDict) -> keras.optimizers.Optimizer:
    from elu_zoo.training.step.muon import Muon

    train = config.train
    classifier = registry.entry(config.model.name).classifier
    return Muon(
        momentum=train.momentum,
        # bfloat16 is slow on processors without bfloat16 instructions.
        compute_dtype="float32" if train.precision == "float32" else "bfloat16",
        sgd_layers=(classifier,) if classifier else (),
        sgd_factor=train.sgd_factor,
        sgd_decay=train.sgd_decay,
    )


def _sgd(train: ConfigDict, model: keras.Model, iterations: int) -> keras.optimizers.SGD:
    first, until = train.momentum_rise
    if train.learning_rate_factors or until:
        (rise,) = schedules.in_iterations([until], iterations)
        factors = _factors(model, train.learning_rate_factors)
        return SGD(float(train.momentum), train.nesterov, factors, first, rise)
    return keras.optimizers.SGD(momentum=float(train.momentum), nesterov=train.nesterov)


def check_sgd_fields(train: ConfigDict, iterations: int) -> None:
    """Checks the factors on learning rates, and the rise of the momentum."""
    for entry in train.learning_rate_factors:
        is_pair = isinstance(entry, tuple) and len(entry) == 2
        has_factor = is_pair and errors.is_finite(entry[1]) and entry[1] > 0
        if not (has_factor and isinstance(entry[0], str)):
            raise errors.UsageError(
                "train.learning_rate_factors must be pairs of a variable's name, such as 'bias' or "
                f"'classifier/kernel', and a factor > 0. Received: {entry!r}."
            )
    first, *until = train.momentum_rise or (None,)
    if len(until) != 1 or not (errors.is_finite(first) and 0 <= first <= train.momentum):
        raise errors.UsageError(
            "train.momentum_rise must be the momentum at iteration 0, in "
            "[0, train.momentum], and the iteration, or the fraction of the run, at "
            f"which the momentum is train.momentum. Received: {train.momentum_rise}."
        )
    if train.momentum_rise != (0, 0):
        schedules.check_boundaries("train.momentum_rise's end", until, iterations)


def _factors(model: keras.Model, pairs: Sequence[tuple[str, float]]) -> list[float]:
    names = {
        id(variable): (variable.name, f"{layer.name}/{variable.name}")
        for layer in model.layers
        for variable in layer.weights
    }
    known = dict.fromkeys(name for both in names.values() for name in both)
    for name, _ in pairs:
        errors.check_choice("variable in train.learning_rate_factors", name, known)
    return [
        next((factor for name, factor in pairs if name in names[id(variable)]), 1.0)
        for variable in model.trainable_variables
    ]
