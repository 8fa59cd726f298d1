"""Claims of the paper, and their tests on paired runs."""

import dataclasses
import math
from collections.abc import Callable, Mapping

from elu_zoo.paper import grouping, statistics
from elu_zoo.paper.grouping import Arm, Rows

NOT_DECIDED = "not decided"
VERDICTS = "holds", "does not hold", NOT_DECIDED


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of testing a claim.

    Attributes:
        n: pairs of runs, rounds or draws; 0 where nothing was measured.
        effect: the difference or ratio that the claim is about.
        low: lower end of its 95 % interval; NaN for none.
        high: upper end.
        p: one-sided and exact; NaN where there is no test.
        verdict: one of `VERDICTS`.
    """

    n: int = 0
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    verdict: str = NOT_DECIDED


Values = Mapping[int, float]  # by seed
Read = Callable[[Rows], Values]
Judge = Callable[[Rows], Finding]


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the paper, decided by one experiment.

    Attributes:
        name: the id in claims.csv.
        section: of the paper.
        text: the claim in our words.
        measure: what the effect is.
        judge: tests the claim on the experiment's rows, which may be empty; None where
            only runs of the paper's own schedule could.
        ours: not a claim of the paper: it is about an activation or a measure that the
            paper does not have there.
    """

    name: str
    section: str
    text: str
    measure: str
    judge: Judge | None = None
    ours: bool = False


def lower(
    first: Read, second: Read, level: float = 0.05, least: int = 5, shown: int = 1
) -> Judge:
    """Returns the test of a claim that one measure is lower than another, in pairs.

    Args:
        first: reads the measure that is claimed to be lower.
        second: reads the other.
        level: the claim holds where p is at most this.
        least: fewer pairs decide nothing.
        shown: fewer pairs have no effect and no p in the report.
    """

    def judge(rows: Rows) -> Finding:
        pair = grouping.pairs(first(rows), second(rows))
        n = len(pair[0])
        if n < shown:
            return Finding(n)
        found = statistics.paired(*pair)
        verdict = statistics.verdict(found, level=level, least=least)
        return Finding(n, found.difference, found.low, found.high, found.p, verdict)

    return judge


def below(limit: float, read: Read) -> Judge:
    """Returns the test of a claim that a measure is below a limit."""

    def judge(rows: Rows) -> Finding:
        values = list(read(rows).values())
        if not values:
            return Finding()
        found = statistics.paired(values, [limit] * len(values))
        mean = statistics.spread(values)
        verdict = statistics.verdict(found)
        return Finding(found.n, mean.mean, mean.low, mean.high, found.p, verdict)

    return judge


def final(arm: Arm, column: str) -> Read:
    """Returns a reader of a column's last value in each run of an arm."""
    return lambda rows: grouping.final_values(rows, arm, column)
