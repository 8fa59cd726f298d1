"""Tuning: the search for a factor on the learning rates, and the choice."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

# The best factors are tried again, with further seeds: one run does not show that
# training is stable at a high rate.
_REPEATED = 2
FURTHER_RUNS = 4
_STEP = 4.0  # between factors until the best one lies between two others
_CLOSE = 2.0  # largest ratio of the best factor and those beside it at the end
# Validation errors by factor, in the order of the seeds; NaN where a run diverged.
Errors = Mapping[float, Sequence[float]]


@dataclasses.dataclass(frozen=True)
class Choice:
    """The factor on the learning rates that tuning chose for an activation."""

    factor: float | None  # None if every factor diverged with the first seed
    at_edge: bool  # whether it is the smallest or largest tried: a better one may lie beyond


def next_factor(errors: Errors) -> float | None:
    """Returns the factor to try next, or None at the end of the search.

    The search begins at 1, and goes up or down by factors of 4 until the best factor
    lies between two others. Then it tries the geometric mean of the best factor and the
    farther one beside it, of two equally far ones that with the smaller error. It ends
    where both are within a factor of 2 of the best one.
    """
    if not errors:
        return 1.0
    tried, trained = sorted(errors), _best(errors)
    if not trained:
        return tried[0] / _STEP
    middle = trained[0]
    i = tried.index(middle)
    if i == len(tried) - 1:
        return middle * _STEP
    if i == 0:
        return middle / _STEP

    def promise(side: float) -> tuple[float, float]:
        error = errors[side][0]
        ratio = round(max(side / middle, middle / side), 6)
        return ratio, -math.inf if math.isnan(error) else -error

    side = max(tried[i - 1], tried[i + 1], key=promise)
    return None if promise(side)[0] <= _CLOSE else math.sqrt(middle * side)


def again(errors: Errors) -> list[tuple[float, int]]:
    """Returns the factors to try with further seeds, each with the number of a seed.

    These are the two best factors, or one if the others diverged. There are equally
    many runs in both cases, and none if all factors diverged.
    """
    factors = _best({factor: each[:1] for factor, each in errors.items()})[:_REPEATED]
    return [
        (factor, seed) for factor in factors for seed in range(1, 1 + FURTHER_RUNS // len(factors))
    ]


def _best(errors: Errors) -> list[float]:
    """Returns the factors that do not diverge with the first seed, the best first.

    A factor with fewer diverged runs is better, then one with more runs, then one with
    a smaller mean error, then one nearer to 1, and of 1/2 and 2 the smaller.
    """
    trained = {x: each for x, each in errors.items() if not math.isnan(each[0])}

    def order(factor: float) -> tuple[float, ...]:
        runs = trained[factor]
        finite = [error for error in runs if not math.isnan(error)]
        mean, distance = statistics.mean(finite), abs(math.log(factor))
        return len(runs) - len(finite), -len(runs), mean, distance, factor

    return sorted(trained, key=order)


def choose(errors: Errors) -> Choice:
    """Chooses the factor with the smallest mean error of those tried with more seeds.

    A factor with fewer diverged runs is better, even if it was tried with one seed.
    """
    trained = _best(errors)
    if not trained:
        return Choice(None, False)
    factor = trained[0]
    return Choice(factor, len(errors) > 1 and factor in (min(errors), max(errors)))
