"""Optimizers of runs: SGD, with options of the paper's baselines, and Muon."""

from collections.abc import Sequence
from typing import Any

import keras
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.training import schedules
from elu_zoo.training.muon import Muon

OPTIMIZERS = "sgd", "muon"


class SGD(keras.optimizers.SGD):
    """Keras' SGD with a learning rate for each variable, and a momentum that rises.

    Args:
        momentum: in [0, 1), at the end of the rise.
        nesterov: whether the momentum is Nesterov's.
        factors: on the learning rate, one for each variable to train.
        first_momentum: of iteration 0.
        rise: iterations in which the momentum rises linearly from `first_momentum` to
            `momentum`; 0 for none.
    """

    def __init__(
        self,
        momentum: float,
        nesterov: bool,
        factors: Sequence[float],
        first_momentum: float = 0.0,
        rise: int = 0,
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
        # By the optimizer's count of iterations, which checkpoints have.
        share = keras.ops.minimum(
            keras.ops.cast(self.iterations, "float32") / self._rise, 1.0
        )
        return self._first_momentum + share * (self.momentum - self._first_momentum)


def create(
    config: ConfigDict, model: keras.Model, iterations: int
) -> keras.optimizers.Optimizer:
    """Creates the optimizer of a config, built for a model.

    Args:
        config: the run's.
        model: the trained network.
        iterations: of the run.

    Raises:
        UsageError: a factor is of no variable of the model.
    """
    train = config.train
    if train.get("optimizer", "sgd") == "muon":
        optimizer = _muon(config)
    else:
        optimizer = _sgd(train, model, iterations)
    optimizer.build(model.trainable_variables)
    return optimizer


def _muon(config: ConfigDict) -> Muon:
    train = config.train
    classifier = registry.entry(config.model.name).classifier
    return Muon(
        momentum=train.momentum,
        # Without bfloat16 a processor is slow in it.
        compute_dtype="float32" if train.precision == "float32" else "bfloat16",
        sgd_layers=(classifier,) if classifier else (),
        sgd_factor=train.get("sgd_factor", 1.0),
        sgd_decay=train.get("sgd_decay", 0.0),
    )


def _sgd(
    train: ConfigDict, model: keras.Model, iterations: int
) -> keras.optimizers.SGD:
    given = train.get("learning_rate_factors", ())
    factors = _factors(model, given) if given else [1.0] * len(model.trainable_weights)
    first, until = train.get("momentum_rise", (0.0, 0))
    if given or until:
        (rise,) = schedules.in_iterations([until], iterations)
        return SGD(train.momentum, train.nesterov, factors, first, rise)
    return keras.optimizers.SGD(momentum=train.momentum, nesterov=train.nesterov)


def check(config: ConfigDict, iterations: int) -> None:
    """Checks the optimizer's entries of a config, as far as they need no model.

    Raises:
        UsageError: an entry is out of its range, or is of the other optimizer.
    """
    train = config.train
    if train.get("optimizer", "sgd") not in OPTIMIZERS:
        raise errors.unknown("train.optimizer", train.optimizer, OPTIMIZERS)
    if train.get("optimizer") == "muon":
        _check_muon(config)
    elif train.get("sgd_factor", 1.0) != 1 or train.get("sgd_decay", 0.0) != 0:
        raise errors.UsageError(
            "train.sgd_factor and train.sgd_decay are of train.optimizer=muon; with "
            "sgd they are 1.0 and 0.0, and train.learning_rates and model.kernel_decay "
            f"say it. Received: {train.get('sgd_factor')}, {train.get('sgd_decay')}."
        )
    for entry in train.get("learning_rate_factors", ()):
        pair = isinstance(entry, tuple) and len(entry) == 2
        if not (pair and isinstance(entry[0], str) and _is_positive(entry[1])):
            raise errors.UsageError(
                "train.learning_rate_factors are pairs of a variable's name, such as "
                "'bias' or 'classifier/kernel', and a factor > 0. Received: "
                f"{entry!r}."
            )
    if "momentum_rise" not in train:
        return
    expected = (
        "train.momentum_rise is the first momentum, in [0, train.momentum], and the "
        f"iteration, or share of the run, until which it rises. Received: "
        f"{train.momentum_rise}."
    )
    if len(train.momentum_rise) != 2:
        raise errors.UsageError(expected)
    first, until = train.momentum_rise
    if not (isinstance(first, float) and 0 <= first <= train.momentum):
        raise errors.UsageError(expected)
    schedules.check_boundaries("train.momentum_rise's end", (until,), iterations)


def _check_muon(config: ConfigDict) -> None:
    train = config.train
    decays = ("kernel_decay", "classifier_decay")
    decays = [f"model.{key}" for key in decays if config.model.get(key)]
    if decays:
        raise errors.UsageError(
            "train.optimizer=muon keeps the norm of kernels, which therefore have no "
            f"decay; train.sgd_decay is of the classifier's. Set {' and '.join(decays)}"
            " to 0.0."
        )
    others = [("learning_rate_factors", ()), ("momentum_rise", (0.0, 0))]
    others = [f"train.{key}" for key, none in others if train.get(key, none) != none]
    if others:
        raise errors.UsageError(
            f"{' and '.join(others)} are of train.optimizer=sgd. Leave them out."
        )
    if not train.nesterov:
        raise errors.UsageError(
            "The momentum of train.optimizer=muon is Nesterov's. Set train.nesterov "
            "to True."
        )
    _muon(config)  # checks the numbers


def _factors(model: keras.Model, given: Sequence[tuple[str, float]]) -> list[float]:
    names = {
        id(variable): (variable.name, f"{layer.name}/{variable.name}")
        for layer in model.layers
        for variable in layer.weights
    }
    for name, _ in given:
        if not any(name in of_variable for of_variable in names.values()):
            known = dict.fromkeys(name for both in names.values() for name in both)
            raise errors.unknown("variable in train.learning_rate_factors", name, known)
    return [
        next((factor for name, factor in given if name in names[id(variable)]), 1.0)
        for variable in model.trainable_variables
    ]


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
