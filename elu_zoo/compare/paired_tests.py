"""Paired tests of activations against the reference, with Holm's correction.

Each interval is Student's, widened by the Bonferroni factor of its step in Holm's
procedure: it excludes 0 exactly where Holm's corrected p is at most 0.05.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from elu_zoo.pairs import grouping, statistics
from elu_zoo.pairs.statistics import LEAST_PAIRS, LEVEL, Interval

Verdict = Literal[
    "reference",
    "lower error",
    "higher error",
    "cannot be told apart",
    "too few pairs",
    "not tested: equal differences",
    "not tested",
]
Values = Mapping[int, float]  # error by seed; NaN where the run did not train
Pair = tuple[Sequence[float], Sequence[float]]


@dataclasses.dataclass(frozen=True)
class Tested:
    """The test of an activation against the reference, in pairs of runs.

    Attributes:
        activation: name of the activation.
        errors: errors of the runs that trained, by seed.
        diverged: number of runs that diverged or stayed at chance.
        verdict: result of the comparison with the reference.
        difference: mean error minus the reference's, with an interval whose ends are
            NaN with too few pairs; None for the reference and if runs did not train.
        p: two-sided p of Student's t, corrected by Holm; NaN if not tested.
        wilcoxon: exact two-sided p of the signed-rank test, not corrected; NaN with too
            few pairs, or if runs diverged.
        rank: 1 for the smallest mean error; None if a run diverged.
        with_images: ends of the interval from seeds and images, see `images.interval`;
            None if not tested.
    """

    activation: str
    errors: Values
    diverged: int
    verdict: Verdict
    difference: Interval | None = None
    p: float = math.nan
    wilcoxon: float = math.nan
    rank: int | None = None
    with_images: tuple[float, float] | None = None


def compared(runs: Mapping[str, Values]) -> list[Tested]:
    """Tests each activation against the first, from errors by activation and seed."""
    reference, *others = runs
    errors = {
        name: {seed: x for seed, x in values.items() if not math.isnan(x)}
        for name, values in runs.items()
    }
    diverged = {name: len(runs[name]) - len(errors[name]) for name in runs}
    # An activation has no runs if all its tuning runs diverged.
    incomplete = {name for name in runs if diverged[name] or not runs[name]}
    pairs = {name: grouping.pairs(errors[name], errors[reference]) for name in others}
    testable = {
        name: pair
        for name, pair in pairs.items()
        if len(pair[0]) >= LEAST_PAIRS and not incomplete & {name, reference}
    }
    tested = intervals(testable)
    ranks = _ranks({name: errors[name] for name in runs if name not in incomplete})
    results = []
    for name in runs:
        result = Tested(name, errors[name], diverged[name], "reference", rank=ranks.get(name))
        if name in testable:
            difference, p = tested[name]
            result = dataclasses.replace(
                result,
                verdict=_verdict(difference),
                difference=difference,
                p=p,
                wilcoxon=statistics.signed_rank_test(*testable[name]).two_sided,
            )
        elif name != reference:
            untested = incomplete & {name, reference}
            verdict = "not tested" if untested else "too few pairs"
            mean = None if untested else _mean(*pairs[name])
            result = dataclasses.replace(result, verdict=verdict, difference=mean)
        results.append(result)
    return results


def intervals(pairs: Mapping[str, Pair]) -> dict[str, tuple[Interval, float]]:
    """Returns the interval and the corrected p of each test of one family, by name.

    Differences that do not vary are no test: their interval and p are NaN.
    """
    results = {name: statistics.paired_interval(*pair) for name, pair in pairs.items()}
    p = {name: found.p for name, found in results.items() if not math.isnan(found.p)}
    corrected = dict(zip(p, statistics.holm([*p.values()]), strict=True))
    # Holm divides the level by the number of tests that remain. After the first test
    # that does not reject, the level stays.
    remaining = len(p)
    for name in sorted(p, key=p.get):
        level = 1 - LEVEL / remaining
        results[name] = statistics.paired_interval(*pairs[name], level)
        if corrected[name] <= LEVEL:
            remaining = max(1, remaining - 1)
    return {name: (x, corrected.get(name, math.nan)) for name, x in results.items()}


def _verdict(interval: Interval) -> Verdict:
    if math.isnan(interval.p):
        return "not tested: equal differences"
    if interval.low <= 0 <= interval.high:
        return "cannot be told apart"
    return "lower error" if interval.high < 0 else "higher error"


def _mean(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    mean = float(np.mean(np.subtract(ours, theirs)))
    return Interval(len(ours), mean, math.nan, math.nan, math.nan)


def _ranks(complete: Mapping[str, Values]) -> dict[str, int]:
    # Rounded, because the mean of equal errors depends on their order.
    means = {n: float(f"{np.mean([*x.values()]):.12g}") for n, x in complete.items()}
    return {name: 1 + sum(other < mean for other in means.values()) for name, mean in means.items()}
