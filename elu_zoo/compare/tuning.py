"""Tuning: the grid of factors on the learning rates, and the choice among them."""

import dataclasses
import math
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Choice:
    """The factor on the learning rates that tuning chose for an activation.

    Attributes:
        factor: the chosen factor; None if all tuning runs diverged.
        error: the smallest validation error; NaN if no tuning run has an error.
        at_edge: whether the factor is the grid's smallest or largest, so that a better
            factor may lie beyond.
        trials: number of tuning runs, including diverged runs.
        diverged: number of tuning runs that diverged.
    """

    factor: float | None
    error: float
    at_edge: bool
    trials: int
    diverged: int


def grid(count: int) -> tuple[float, ...]:
    """Returns factors, each twice the one before, with 1 in the middle.

    Args:
        count: number of factors, odd, >= 1.
    """
    return tuple(2.0 ** (i - count // 2) for i in range(count))


def choose(errors: Mapping[float, float]) -> Choice:
    """Chooses the factor with the smallest validation error.

    Among factors with equal errors, the factor nearest to 1 is chosen, and among two
    equally near factors, such as 1/2 and 2, the smaller.

    Args:
        errors: validation error by factor; NaN where the run diverged.
    """
    finite = {factor: e for factor, e in errors.items() if not math.isnan(e)}
    count, diverged = len(errors), len(errors) - len(finite)
    if not finite:
        return Choice(None, math.nan, False, count, diverged)

    def order(factor: float) -> tuple[float, float, float]:
        return finite[factor], abs(math.log(factor)), factor

    best = min(finite, key=order)
    edge = count > 1 and best in (min(errors), max(errors))
    return Choice(best, finite[best], edge, count, diverged)
