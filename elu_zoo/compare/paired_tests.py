"""Paired tests of activations against the reference, corrected for their number.

Each interval is Student's, widened by the Bonferroni factor of its step in Holm's
procedure: it excludes 0 exactly where Holm's corrected p is at most 0.05.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from elu_zoo.paper import grouping, statistics
from elu_zoo.paper.statistics import Interval
from elu_zoo.paper.verdicts import LEAST_PAIRS, LEVEL

Verdict = Literal[
    "reference",
    "lower error",
    "higher error",
    "cannot be told apart",
    "too few pairs",
    "not tested: diverged",
]
Values = Mapping[int, float]  # error by seed; NaN where the run diverged


@dataclasses.dataclass(frozen=True)
class Tested:
    """An activation beside the reference, in pairs of runs.

    Attributes:
        activation: its name.
        errors: of runs that ended well, by seed.
        diverged: number of runs that diverged.
        verdict: what the interval says of the error.
        difference: its error minus the reference's, with the interval; the ends are
            NaN where nothing is tested; None where no pair is complete.
        p: two-sided p of Student's t, corrected by Holm; NaN where not tested.
        wilcoxon: exact two-sided p of the signed-rank test, not corrected; NaN where
            not tested.
        rank: 1 for the smallest mean error; None where a run diverged.
    """

    activation: str
    errors: Values
    diverged: int
    verdict: Verdict
    difference: Interval | None = None
    p: float = math.nan
    wilcoxon: float = math.nan
    rank: int | None = None


def compared(runs: Mapping[str, Values]) -> list[Tested]:
    """Tests each activation against the first.

    Args:
        runs: error of each run, by activation and seed; no run where every learning
            rate diverged when tuning.

    Returns:
        Results in the order given.
    """
    reference, *others = runs
    known = {
        name: {seed: x for seed, x in values.items() if not math.isnan(x)}
        for name, values in runs.items()
    }
    lost = {name: len(runs[name]) - len(known[name]) for name in runs}
    # Without any run every learning rate diverged when tuning.
    broken = {name for name in runs if lost[name] or not runs[name]}
    pairs = {name: grouping.pairs(known[name], known[reference]) for name in others}
    testable = {
        name: pair
        for name, pair in pairs.items()
        if len(pair[0]) >= LEAST_PAIRS and not broken & {name, reference}
    }
    tests = intervals([np.subtract(*pair) for pair in testable.values()])
    found = dict(zip(testable, tests, strict=True))
    ranks = _ranks({name: known[name] for name in runs if name not in broken})
    results = []
    for name in runs:
        result = Tested(
            name, known[name], lost[name], "reference", rank=ranks.get(name)
        )
        if name in found:
            difference, p = found[name]
            result = dataclasses.replace(
                result,
                verdict=_verdict(difference),
                difference=difference,
                p=p,
                wilcoxon=_wilcoxon(*testable[name]),
            )
        elif name != reference:
            untested = broken & {name, reference}
            verdict = "not tested: diverged" if untested else "too few pairs"
            mean = _mean(*pairs[name])
            result = dataclasses.replace(result, verdict=verdict, difference=mean)
        results.append(result)
    return results


def intervals(differences: Sequence[Sequence[float]]) -> list[tuple[Interval, float]]:
    """Returns the interval and the corrected p of each test of one family.

    Args:
        differences: of the pairs of each test.
    """
    p = [statistics.student_interval(each).p for each in differences]
    corrected = statistics.holm(p)
    order = np.argsort(p)
    found: list[tuple[Interval, float]] = [None] * len(p)
    # Holm divides the level by the number of tests that are left. After the first test
    # that does not reject, the level stays.
    left = len(p)
    for place in order:
        level = 1 - LEVEL / left
        interval = statistics.student_interval(differences[place], level)
        found[place] = interval, corrected[place]
        if corrected[place] <= LEVEL:
            left = max(1, left - 1)
    return found


def _verdict(interval: Interval) -> Verdict:
    if interval.low <= 0 <= interval.high:
        return "cannot be told apart"
    return "lower error" if interval.high < 0 else "higher error"


def _wilcoxon(ours: Sequence[float], theirs: Sequence[float]) -> float:
    found = statistics.paired(ours, theirs)
    return min(1.0, 2 * min(found.p, found.opposite))


def _mean(ours: Sequence[float], theirs: Sequence[float]) -> Interval | None:
    if not ours:
        return None
    mean = float(np.mean(np.subtract(ours, theirs)))
    return Interval(len(ours), mean, math.nan, math.nan, math.nan)


def _ranks(complete: Mapping[str, Values]) -> dict[str, int]:
    means = {name: np.mean(list(values.values())) for name, values in complete.items()}
    order = sorted(means, key=means.get)
    return {name: place for place, name in enumerate(order, 1)}
