"""Optimizers of runs: Muon, and SGD with the options of the paper's baselines."""

from collections.abc import Sequence
from typing import Any

import keras
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.training import schedules

OPTIMIZERS = "sgd", "muon"


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
    train = config.train
    if train.get("optimizer", "sgd") == "muon":
        optimizer = _muon(config)
    else:
        optimizer = _sgd(train, model, iterations)
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
        sgd_factor=train.get("sgd_factor", 1.0),
        sgd_decay=train.get("sgd_decay", 0.0),
    )


def _sgd(train: ConfigDict, model: keras.Model, iterations: int) -> keras.optimizers.SGD:
    pairs = train.get("learning_rate_factors", ())
    first, until = train.get("momentum_rise", (0.0, 0))
    if pairs or until:
        (rise,) = schedules.in_iterations([until], iterations)
        factors = _factors(model, pairs)
        return SGD(train.momentum, train.nesterov, factors, first, rise)
    return keras.optimizers.SGD(momentum=train.momentum, nesterov=train.nesterov)


def check(config: ConfigDict, iterations: int) -> None:
    """Checks the fields of a config for the optimizer, without a model."""
    train = config.train
    name = train.get("optimizer", "sgd")
    errors.check_choice("train.optimizer", name, OPTIMIZERS)
    if name == "muon":
        _check_muon(config)
    elif train.get("sgd_factor", 1.0) != 1 or train.get("sgd_decay", 0.0) != 0:
        raise errors.UsageError(
            "With train.optimizer=sgd, train.sgd_factor must be 1.0 and train.sgd_decay must be "
            f"0.0. Received: {train.get('sgd_factor')}, {train.get('sgd_decay')}. Set "
            "train.learning_rates and model.kernel_decay instead."
        )
    for entry in train.get("learning_rate_factors", ()):
        is_pair = isinstance(entry, tuple) and len(entry) == 2
        has_factor = is_pair and errors.is_finite(entry[1]) and entry[1] > 0
        if not (has_factor and isinstance(entry[0], str)):
            raise errors.UsageError(
                "train.learning_rate_factors must be pairs of a variable's name, such as 'bias' or "
                f"'classifier/kernel', and a factor > 0. Received: {entry!r}."
            )
    if "momentum_rise" in train:
        _check_momentum_rise(train, iterations)


def _check_momentum_rise(train: ConfigDict, iterations: int) -> None:
    fits = len(train.momentum_rise) == 2
    if fits:
        first, _ = train.momentum_rise
        fits = isinstance(first, float) and 0 <= first <= train.momentum
    if not fits:
        raise errors.UsageError(
            "train.momentum_rise must be the momentum at iteration 0, in "
            "[0, train.momentum], and the iteration, or the fraction of the run, at "
            f"which the momentum is train.momentum. Received: {train.momentum_rise}."
        )
    until = train.momentum_rise[1:]
    schedules.check_boundaries("train.momentum_rise's end", until, iterations)


def _check_muon(config: ConfigDict) -> None:
    train = config.train
    decays = ("kernel_decay", "classifier_decay")
    decays = [f"model.{key}" for key in decays if config.model.get(key)]
    if decays:
        raise errors.UsageError(
            "train.optimizer=muon keeps the norm of kernels constant, so that kernels "
            f"cannot have a decay. Set {' and '.join(decays)} to 0.0. Set "
            "train.sgd_decay for a decay of the classifier's kernel."
        )
    of_sgd = [("learning_rate_factors", ()), ("momentum_rise", (0.0, 0))]
    of_sgd = [f"train.{key}" for key, none in of_sgd if train.get(key, none) != none]
    if of_sgd:
        raise errors.UsageError(
            f"{' and '.join(of_sgd)} must not be set with train.optimizer=muon. Remove "
            "them from the config, or set train.optimizer=sgd."
        )
    if not train.nesterov:
        raise errors.UsageError(
            "train.optimizer=muon always uses Nesterov's momentum. Set train.nesterov to True."
        )
    _muon(config)  # raises errors about values that are out of range


def _factors(model: keras.Model, pairs: Sequence[tuple[str, float]]) -> list[float]:
    names = {
        id(variable): (variable.name, f"{layer.name}/{variable.name}")
        for layer in model.layers
        for variable in layer.weights
    }
    known = dict.fromkeys(name for both in names.values() for name in both)
    for name, _ in pairs:
        if name not in known:
            raise errors.unknown("variable in train.learning_rate_factors", name, known)
    return [
        next((factor for name, factor in pairs if name in names[id(variable)]), 1.0)
        for variable in model.trainable_variables
    ]
