"""Claims of the paper, and tests of them on measured rows.

Effects are differences of which a negative one supports the claim.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from elu_zoo.paper import grouping, statistics
from elu_zoo.paper.grouping import Arm, Rows

Outcome = Literal[
    "supports", "contradicts", "no difference", "layers disagree", "not measured"
]
Values = Mapping[int, float]  # by seed
Read = Callable[[Rows], Values]
ReadLayers = Callable[[Rows], Mapping[str, Values]]


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of a claim test.

    Attributes:
        n: pairs of runs, rounds or draws; 0 where nothing was measured.
        effect: mean difference, ratio or distance.
        low: lower end of its 95 % interval; NaN for none.
        high: upper end.
        p: two-sided p of Student's t test; NaN for another kind of test.
        wilcoxon: one-sided exact p of Wilcoxon's signed-rank test.
        outcome: of a test without p; "" for the others, see `verdicts.outcomes`.
        layers: results of single layers, where the effect is their mean.
    """

    n: int = 0
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    wilcoxon: float = math.nan
    outcome: Outcome | Literal[""] = ""
    layers: tuple["Finding", ...] = ()


Judge = Callable[[Rows], Finding]


@dataclasses.dataclass(frozen=True)
class ClaimTest:
    """One measure that supports or contradicts a claim.

    Attributes:
        name: the id in claim_tests.csv.
        measure: what the effect is.
        judge: tests an experiment's rows, which may be empty; None where only runs of
            the paper's own schedule could decide.
        ours: about an activation or a measure that the paper does not have there; it
            takes no part in the verdict.
    """

    name: str
    measure: str
    judge: Judge | None = None
    ours: bool = False


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes:
        name: the id in claims.csv.
        section: of the paper.
        text: in the paper's words.
        reported: the numbers that the paper reports for it.
        tests: which decide the claim.
        gpu: what a GPU would have to train to decide it; "" if two CPU cores can.
    """

    name: str
    section: str
    text: str
    reported: str
    tests: tuple[ClaimTest, ...]
    gpu: str = ""


def lower(first: Read, second: Read) -> Judge:
    """Returns the test that one measure is lower than another, in pairs of runs."""
    return lambda rows: _compared(first(rows), second(rows))


def below(limit: float, read: Read) -> Judge:
    """Returns the test that a measure is below a limit."""

    def judge(rows: Rows) -> Finding:
        values = read(rows)
        return _compared(values, dict.fromkeys(values, limit))

    return judge


def lower_in_layers(first: ReadLayers, second: ReadLayers) -> Judge:
    """Returns the test of a mean over layers, with the results of each layer."""

    def judge(rows: Rows) -> Finding:
        one, other = first(rows), second(rows)
        layers = [_compared(one[name], other.get(name, {})) for name in one]
        mean = _compared(mean_of_layers(one), mean_of_layers(other))
        return dataclasses.replace(mean, layers=tuple(layers))

    return judge


def wilcoxon_below(level: float, least: int, first: Read, second: Read) -> Judge:
    """Returns the paper's own test: Wilcoxon's one-sided p is below a level.

    Args:
        level: of p.
        least: number of pairs that can reach the level.
        first: reads the measure that is claimed to be lower.
        second: reads the other measure.
    """

    def judge(rows: Rows) -> Finding:
        pair = grouping.pairs(first(rows), second(rows))
        if len(pair[0]) < least:
            return Finding()
        found = statistics.paired(*pair)
        outcomes = {"holds": "supports", "does not hold": "contradicts"}
        verdict = statistics.verdict(found, level=level, least=least)
        plain = _compared(first(rows), second(rows))
        outcome = outcomes.get(verdict, "no difference")
        return dataclasses.replace(plain, p=math.nan, outcome=outcome)

    return judge


def final(arm: Arm, column: str) -> Read:
    """Returns a reader of a column's last value in each run of an arm."""
    return lambda rows: grouping.final_values(rows, arm, column)


def constant(value: float, like: Read) -> Read:
    """Returns a reader of one value for each run that another reader has."""
    return lambda rows: dict.fromkeys(like(rows), value)


def mean_of_layers(layers: Mapping[str, Values]) -> Values:
    """Returns the mean over the finite values of a run's layers, by seed."""
    seeds = sorted({seed for values in layers.values() for seed in values})
    return {
        seed: float(np.mean([of[seed] for of in layers.values() if seed in of]))
        for seed in seeds
    }


def _compared(first: Values, second: Values) -> Finding:
    pair = grouping.pairs(first, second)
    if not pair[0]:
        return Finding()
    found = statistics.student_interval(np.subtract(*pair))
    wilcoxon = statistics.paired(*pair).p
    return Finding(found.n, found.mean, found.low, found.high, found.p, wilcoxon)
