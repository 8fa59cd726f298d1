"""Claims of the paper, and tests of them on measured rows."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import pandas as pd

from elu_zoo.pairs import grouping, statistics
from elu_zoo.pairs.grouping import Arm, Rows

Outcome = Literal[
    Literal["supports", "contradicts", "no difference", "layers disagree"],
    Literal["diverged", "too few pairs", "equal", "decides nothing", "not measured"],
]
Values = Mapping[int, float]  # value by seed
Read = Callable[[pd.DataFrame], Values]  # a reader: returns a measure of each run
ReadLayers = Callable[[pd.DataFrame], Mapping[str, Values]]


@dataclasses.dataclass(frozen=True)
class Support:
    """The values of a measure that support a claim.

    Attributes:
        sense: whether smaller or larger values support the claim.
        limit: the value with which a measured value is compared; 0 for differences.
        by_low_end: whether the lower end of a mean's interval is compared with the
            limit, so that a mean equal to the limit supports the claim.
    """

    sense: Literal["smaller", "larger"] = "smaller"
    limit: float = 0.0
    by_low_end: bool = False

    def includes(self, value: float) -> bool:
        """Returns whether a value supports the claim."""
        smaller = self.sense == "smaller"
        return value < self.limit if smaller else value > self.limit

    def __str__(self) -> str:
        subject = "lower end " * self.by_low_end
        return f"{subject}{self.sense} than {self.limit:.4g}"


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of a claim test.

    Attributes:
        n: number of runs, pairs of runs, rounds or draws; 0 if nothing was measured.
        effect: the measured value, such as a mean difference, a ratio or a fraction.
        low: lower end of the effect's 95 % interval; NaN for no interval.
        high: upper end of the effect's 95 % interval; NaN for no interval.
        p: two-sided p of Student's t test that the effect equals `Support.limit`; NaN
            for another kind of test.
        wilcoxon: exact one-sided p of Wilcoxon's signed-rank test of the claim.
        outcome: result of a test without p; "" for a test with p, whose outcome
            `verdicts.outcomes` decides.
        layers: results of single layers, if the effect is the mean of layers.
    """

    n: int = 0
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    wilcoxon: float = math.nan
    outcome: Outcome | Literal[""] = ""
    layers: tuple["Finding", ...] = ()


Judge = Callable[[pd.DataFrame, Support], Finding]


@dataclasses.dataclass(frozen=True)
class ClaimTest:
    """One measure that supports or contradicts a claim.

    Attributes:
        name: the id in claim_tests.csv.
        measure: describes the effect.
        judge: tests an experiment's rows, which may be empty; None if the runs, which
            need a GPU, are to be compared by eye.
        support: the effects that support the claim.
        ours: whether the paper makes no claim about the activation, the measure or the
            length of training; the verdict does not depend on such a test.
        decides: False for an effect that is reported, but decides nothing.
        variant: variant of the tested runs; the test counts only if there are such
            runs. "" for a test that counts in any case.
    """

    name: str
    measure: str
    judge: Judge | None = None
    support: Support = Support()
    ours: bool = False
    decides: bool = True
    variant: str = ""

    @property
    def supports_if(self) -> str:
        """The effects that support the claim, as text; "" if none decides."""
        return str(self.support) if self.decides else ""

    def counts(self, rows: Rows) -> bool:
        """Returns whether the rows have the test's variant; True without a variant."""
        return not self.variant or any(r["variant"] == self.variant for r in rows)

    def find(self, frame: pd.DataFrame | None) -> Finding:
        """Returns the result of the test on an experiment's rows; None for no rows."""
        finding = Finding() if frame is None or not self.judge else self.judge(frame, self.support)
        if self.decides or not finding.n:
            return finding
        return dataclasses.replace(finding, p=math.nan, outcome="decides nothing")


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes:
        name: the id in claims.csv.
        section: section of the paper.
        text: the claim in the paper's words.
        reported: the numbers that the paper reports for the claim.
        tests: the tests that decide the claim.
        gpu: runs that need a GPU to decide the claim; "" if two CPU cores are enough.
    """

    name: str
    section: str
    text: str
    reported: str
    tests: tuple[ClaimTest, ...]
    gpu: str = ""


def difference(first: Read, second: Read) -> Judge:
    """Returns a test of the mean difference of two measures in pairs of runs."""
    return lambda frame, support: _compared(first(frame), second(frame), support)


def mean_value(read: Read) -> Judge:
    """Returns a test of a measure's mean over runs."""

    def judge(frame: pd.DataFrame, support: Support) -> Finding:
        values = read(frame)
        finding = _compared(values, dict.fromkeys(values, 0.0), support)
        if not support.by_low_end or finding.n < statistics.LEAST_PAIRS or finding.outcome:
            return finding
        outcome = "supports" if support.includes(finding.low) else "contradicts"
        return dataclasses.replace(finding, p=math.nan, outcome=outcome)

    return judge


def difference_in_layers(first: ReadLayers, second: ReadLayers) -> Judge:
    """Returns a test of a difference's mean over layers, and of each layer."""

    def judge(frame: pd.DataFrame, support: Support) -> Finding:
        a, b = first(frame), second(frame)
        layers = [_compared(a[name], b.get(name, {}), support) for name in a]
        mean = _compared(mean_of_layers(a), mean_of_layers(b), support)
        return dataclasses.replace(mean, layers=tuple(layers))

    return judge


def wilcoxon_below(level: float, least: int, first: Read, second: Read) -> Judge:
    """Returns the paper's test, which requires a small one-sided p of Wilcoxon's test.

    Args:
        level: largest p that supports the claim.
        least: least number of pairs with which p can be as small as `level`.
        first: reads the measure that is claimed to be lower.
        second: reads the other measure.
    """

    def judge(frame: pd.DataFrame, support: Support) -> Finding:
        pair = grouping.pairs(first(frame), second(frame))
        if not pair[0]:
            return Finding()
        comparison = statistics.paired(*pair)
        outcomes = {"holds": "supports", "does not hold": "contradicts"}
        verdict = statistics.verdict(comparison, level=level)
        finding = _compared(first(frame), second(frame), support)
        outcome = outcomes.get(verdict, "no difference")
        if finding.n < least:  # a measured outcome: without p the claim stays open
            outcome = "too few pairs"
        return dataclasses.replace(finding, p=math.nan, outcome=outcome)

    return judge


def final(arm: Arm, column: str) -> Read:
    """Returns a reader of a column's last value in each run of an arm."""
    return lambda frame: grouping.final_values(frame, arm, column)


def mean_of_layers(layers: Mapping[str, Values]) -> Values:
    """Returns the mean over the layers that have a value for a seed, by seed."""
    seeds = sorted({seed for values in layers.values() for seed in values})
    return {
        seed: float(np.mean([of[seed] for of in layers.values() if seed in of])) for seed in seeds
    }


def _compared(first: Values, second: Values, support: Support) -> Finding:
    pair = grouping.pairs(first, second)
    if not pair[0]:
        return Finding()
    distances = np.subtract(*pair) - support.limit
    interval = statistics.student_interval(distances, scale=np.abs(pair).max())
    does_not_vary = interval.n >= statistics.LEAST_PAIRS and math.isnan(interval.p)
    claimed = pair[0], np.add(pair[1], support.limit)  # claimed: first < second
    if support.sense == "larger":
        claimed = claimed[::-1]
    return Finding(
        n=interval.n,
        effect=interval.mean + support.limit,
        low=interval.low + support.limit,
        high=interval.high + support.limit,
        p=interval.p,
        wilcoxon=statistics.paired(*claimed).p,
        outcome="equal" if does_not_vary else "",
    )
