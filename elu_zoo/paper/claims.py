"""Claims of the paper, tests of them on measured rows, and their verdicts.

A test supports or contradicts a claim if it has at least five pairs of runs and its
two-sided Student's p, corrected by Holm's method over all tests of the claim and their
layers, is at most 0.05. Effects with an outcome have decided themselves.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np
import pandas as pd

from elu_zoo.pairs import grouping, statistics
from elu_zoo.pairs.grouping import Arm

_DECIDED = "reproduced", "reproduced in early training", "contradicted", "different", "mixed"
VERDICTS = *_DECIDED, "undecided", "not tested"
Values = Mapping[int, float]  # value by seed
Read = Callable[[pd.DataFrame], Values]  # a reader: returns a measure of each run
ReadLayers = Callable[[pd.DataFrame], Mapping[str, Values]]
Find = Callable[[pd.DataFrame, "ClaimTest"], "Effect"]


class Effect(NamedTuple):
    """A measured effect.

    Attributes:
        n: number of runs, pairs of runs, rounds or draws; 0 if nothing was measured.
        effect: such as a mean difference, a ratio or a fraction.
        low, high: ends of the effect's 95 % interval; NaN for no interval.
        p: two-sided p of Student's t test that the effect equals the limit, or that of
            the paper's own test; NaN for none.
        outcome: one of those of the report's head; "" until the p decides it.
        layers: effects in single layers, if this one is their mean.
    """

    n: int = 0
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    outcome: str = ""
    layers: tuple["Effect", ...] = ()


@dataclasses.dataclass(frozen=True)
class ClaimTest:
    """One measure that supports or contradicts a claim.

    Attributes:
        find: measures an experiment's rows.
        limit: an effect below it supports the claim.
        larger: whether an effect above the limit supports the claim instead.
        within: whether a size of the whole interval below the limit supports the claim.
    """

    name: str
    measure: str
    find: Find
    limit: float = 0.0
    larger: bool = False
    within: bool = False

    @property
    def supports_if(self) -> str:
        """The effects that support the claim, as text."""
        if self.within:
            return f"interval within ±{self.limit:.4g}"
        return f"{'larger' if self.larger else 'smaller'} than {self.limit:.4g}"

    def supports(self, effect: float) -> bool:
        """Returns whether an effect is on the claim's side of the limit."""
        return effect > self.limit if self.larger else effect < self.limit

    def measured(self, frame: pd.DataFrame | None) -> Effect:
        """Returns the effect in an experiment's rows; None for no rows."""
        return Effect() if frame is None else self.find(frame, self)


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the paper, in its words, some shortened, with the numbers that it reports."""

    name: str
    section: str
    text: str
    reported: str
    tests: tuple[ClaimTest, ...]


def difference(first: Read, second: Read) -> Find:
    """Measures the mean difference of two measures in pairs of runs."""
    return lambda frame, test: compared(first(frame), second(frame), test)


def mean_value(read: Read) -> Find:
    """Measures the mean over runs."""

    def find(frame: pd.DataFrame, test: ClaimTest) -> Effect:
        values = read(frame)
        return compared(values, dict.fromkeys(values, 0.0), test)

    return find


def equals(read: Read, mean: float, deviation: float, runs: int) -> Find:
    """Measures our mean minus a mean of the paper, by the larger deviation of runs.

    The outcome is "supports" if the whole 95 % interval is within the test's limit, else
    "differs" if the interval excludes 0. A single run of ours has an interval.
    """
    from scipy import stats

    def find(frame: pd.DataFrame, test: ClaimTest) -> Effect:
        values = [*read(frame).values()]
        if not values:
            return Effect()
        own = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        freedom = len(values) - 1 if own > deviation else runs - 1
        error = max(own, deviation) * math.sqrt(1 / len(values) + 1 / runs)
        effect = float(np.mean(values)) - mean
        half = float(stats.t.ppf(0.975, freedom)) * error
        p = 2 * float(stats.t.sf(abs(effect) / error, freedom))
        outcome = "inconclusive"
        if abs(effect) + half < test.limit:
            outcome = "supports"
        elif abs(effect) > half:
            outcome = "differs"
        return Effect(len(values), effect, effect - half, effect + half, p, outcome=outcome)

    return find


def difference_in_layers(first: ReadLayers, second: ReadLayers) -> Find:
    """Measures a difference's mean over layers, and the difference in each layer."""

    def find(frame: pd.DataFrame, test: ClaimTest) -> Effect:
        a, b = first(frame), second(frame)
        layers = tuple(compared(a[name], b.get(name, {}), test) for name in a)
        both = {name: a[name].keys() & b[name].keys() for name in a if name in b}
        means = [_mean_of_layers(arm, both) for arm in (a, b)]
        return compared(means[0], means[1], test)._replace(layers=layers)

    return find


def wilcoxon(first: Read, second: Read) -> Find:
    """Returns the paper's test that `first` is lower: a one-sided Wilcoxon's p < 0.001."""

    def find(frame: pd.DataFrame, test: ClaimTest) -> Effect:
        pair = grouping.pairs(first(frame), second(frame))
        if not pair[0]:
            return Effect()
        comparison = statistics.signed_rank_test(*pair)
        outcome = "supports" if comparison.p <= 0.001 else "inconclusive"
        if comparison.opposite <= 0.001:
            outcome = "contradicts"
        if len(pair[0]) < 10:
            outcome = "too few pairs"  # p cannot be as small
        effect = compared(first(frame), second(frame), test)
        return effect._replace(p=comparison.p, outcome=outcome)

    return find


def final(arm: Arm, column: str) -> Read:
    """Returns a reader of a column's last value in each run of an arm."""
    return lambda frame: grouping.final_values(frame, arm, column)


def _mean_of_layers(arm: Mapping[str, Values], both: Mapping[str, Set[int]]) -> Values:
    """Returns the mean over the layers that have a value in both arms for a seed, by seed."""
    return {
        seed: float(np.mean([arm[name][seed] for name in both if seed in both[name]]))
        for seed in sorted(set().union(*both.values()))
    }


def compared(first: Values, second: Values, test: ClaimTest) -> Effect:
    """Returns the mean difference of two measures in pairs of runs."""
    pair, limit = grouping.pairs(first, second), test.limit
    if not pair[0]:
        return Effect()
    interval = statistics.paired_interval(pair[0], np.add(pair[1], limit))
    does_not_vary = interval.n >= statistics.LEAST_PAIRS and math.isnan(interval.p)
    return Effect(
        n=interval.n,
        effect=interval.mean + limit,
        low=interval.low + limit,
        high=interval.high + limit,
        p=interval.p,
        outcome="equal" if does_not_vary else "",
    )


def judge(claim: Claim, frame: pd.DataFrame | None) -> list[tuple[ClaimTest, Effect]]:
    """Returns the claim's tests with their effects and outcomes.

    Holm's method corrects all p and those of layers together.
    """
    effects = [test.measured(frame) for test in claim.tests]
    every = [x for effect in effects for x in (effect, *effect.layers)]
    corrected = iter(statistics.holm([x.p for x in every if _is_tested(x)]))
    decided = []
    for test, effect in zip(claim.tests, effects, strict=True):
        overall, *layers = [
            _outcome(test, x, next(corrected)) if _is_tested(x) else x.outcome
            for x in (effect, *effect.layers)
        ]
        disagree = {"supports", "contradicts"} <= set(layers)
        untested = "too few pairs" if effect.n else "not measured"
        outcome = "layers disagree" if disagree else overall or untested
        decided.append((test, effect._replace(outcome=outcome)))
    return decided


def _is_tested(effect: Effect) -> bool:
    enough = effect.n >= statistics.LEAST_PAIRS and not math.isnan(effect.p)
    return enough and not effect.outcome


def _outcome(test: ClaimTest, effect: Effect, p: float) -> str:
    if p > statistics.LEVEL:
        return "no difference"
    return "supports" if test.supports(effect.effect) else "contradicts"


def verdict(outcomes: Sequence[str], share: float) -> str:
    """Returns the verdict of a claim, one of `VERDICTS`.

    Args:
        outcomes: outcomes of the claim's tests that are in the paper.
        share: as `views.schedule_share` returns it.
    """
    measured = set(outcomes) - {"not measured"}
    failed = {"diverged", "at chance", "too few pairs", "equal"}
    undecided = failed | {"no difference", "inconclusive"}
    if not share or measured <= undecided:
        return "undecided" if share and measured - failed else "not tested"
    if measured == {"supports"} == set(outcomes):
        return "reproduced" if share >= 1 else "reproduced in early training"
    against = measured - undecided <= {"contradicts", "differs"}
    if share < 1 and against:
        return "not tested"
    if measured == {"contradicts"}:
        return "contradicted"
    return "different" if "differs" in measured and against else "mixed"
