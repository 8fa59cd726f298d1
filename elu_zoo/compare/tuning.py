"""Tuning: the grid of factors on the learning rates, and the choice among them."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

# Factors that are tried again, with further seeds: one run does not show that training
# is stable at a high rate.
REPEATED = 3
FURTHER_SEEDS = 2
Errors = Mapping[float, Sequence[float]]  # by factor, in the order of the seeds


@dataclasses.dataclass(frozen=True)
class Choice:
    """The factor on the learning rates that tuning chose for an activation.

    Attributes:
        factor: the chosen factor; None if every factor diverged with the first seed.
        at_edge: whether the factor is the grid's smallest or largest, so that a better
            factor may lie beyond.
        trials: number of tuning runs, including diverged runs.
        diverged: number of tuning runs that diverged.
    """

    factor: float | None
    at_edge: bool
    trials: int
    diverged: int


def grid(count: int) -> tuple[float, ...]:
    """Returns factors, each twice the one before, with 1 in the middle.

    Args:
        count: number of factors, odd, >= 1.
    """
    return tuple(2.0 ** (i - count // 2) for i in range(count))


def best(errors: Errors) -> list[float]:
    """Returns the factors that do not diverge with the first seed, the best first.

    The best factors, at most `REPEATED`, are tried with further seeds. A factor with
    fewer diverged runs is better, then one with a smaller mean error, then one nearer
    to 1, and of 1/2 and 2 the smaller.

    Args:
        errors: validation errors; NaN where a run diverged.
    """
    trained = {x: each for x, each in errors.items() if not math.isnan(each[0])}

    def order(factor: float) -> tuple[float, float, float, float]:
        finite = [error for error in trained[factor] if not math.isnan(error)]
        diverged = len(trained[factor]) - len(finite)
        return diverged, statistics.mean(finite), abs(math.log(factor)), factor

    return sorted(trained, key=order)


def choose(errors: Errors) -> Choice:
    """Chooses the best factor of those that were tried with the most seeds.

    Args:
        errors: see `best`.
    """
    runs = [error for each in errors.values() for error in each]
    counts = len(runs), sum(map(math.isnan, runs))
    trained = best(errors)
    if not trained:
        return Choice(None, False, *counts)
    most = max(len(errors[factor]) for factor in trained)
    factor = next(factor for factor in trained if len(errors[factor]) == most)
    edge = len(errors) > 1 and factor in (min(errors), max(errors))
    return Choice(factor, edge, *counts)
