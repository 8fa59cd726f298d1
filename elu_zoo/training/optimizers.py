"""The optimizer of a run: SGD, with what the paper's rivals add to it."""

from collections.abc import Sequence
from typing import Any

import keras
from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.training import schedules


class SGD(keras.optimizers.SGD):
    """Keras' SGD with a learning rate for each variable, and a momentum that rises.

    Args:
        momentum: in [0, 1), at the end of the rise.
        nesterov: whether the momentum is Nesterov's.
        factors: on the learning rate, one for each variable to train.
        first_momentum: of iteration 0.
        rise: iterations in which the momentum gets from there to `momentum`, on a
            straight line; 0 for none.
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
        # The optimizer's own count, which checkpoints have.
        share = keras.ops.minimum(
            keras.ops.cast(self.iterations, "float32") / self._rise, 1.0
        )
        return self._first_momentum + share * (self.momentum - self._first_momentum)


def create(
    train: ConfigDict, model: keras.Model, iterations: int
) -> keras.optimizers.Optimizer:
    """Returns the optimizer that a config asks for, built for a model.

    Args:
        train: the config's entry.
        model: what is trained.
        iterations: of the run.

    Raises:
        UsageError: a factor is of no variable of the model.
    """
    given = train.get("learning_rate_factors", ())
    factors = _factors(model, given) if given else [1.0] * len(model.trainable_weights)
    first, until = train.get("momentum_rise", (0.0, 0))
    if given or until:
        (rise,) = schedules.in_iterations([until], iterations)
        optimizer = SGD(train.momentum, train.nesterov, factors, first, rise)
    else:
        optimizer = keras.optimizers.SGD(
            momentum=train.momentum, nesterov=train.nesterov
        )
    optimizer.build(model.trainable_variables)
    return optimizer


def check(train: ConfigDict, iterations: int) -> None:
    """Checks the entries of `create` that need no model.

    Raises:
        UsageError: one is out of its range.
    """
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
