"""Tuning: the grid of factors on the learning rates, and the choice among them."""

import dataclasses
import math
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Choice:
    """The chosen factor of an activation.

    Attributes:
        factor: with the smallest validation error; None if all runs diverged.
        error: on the validation images; NaN if all runs diverged.
        at_edge: the factor is the grid's smallest or largest: a better one may lie
            beyond.
        trials: number of runs that were tried, diverged ones included.
        diverged: number of runs that diverged.
    """

    factor: float | None
    error: float
    at_edge: bool
    trials: int
    diverged: int


def grid(count: int) -> tuple[float, ...]:
    """Returns factors, each twice the one before, with 1 in the middle.

    Args:
        count: odd, >= 1.
    """
    return tuple(2.0 ** (i - count // 2) for i in range(count))


def choose(errors: Mapping[float, float]) -> Choice:
    """Chooses the factor with the smallest validation error.

    Of equal errors the factor nearest to 1 wins, of equally near ones the smaller.

    Args:
        errors: validation error by factor; NaN where the run diverged.
    """
    known = {factor: e for factor, e in errors.items() if not math.isnan(e)}
    count, lost = len(errors), len(errors) - len(known)
    if not known:
        return Choice(None, math.nan, False, count, lost)

    def order(factor: float) -> tuple[float, float, float]:
        return known[factor], abs(math.log(factor)), factor

    best = min(known, key=order)
    edge = count > 1 and best in (min(errors), max(errors))
    return Choice(best, known[best], edge, count, lost)
