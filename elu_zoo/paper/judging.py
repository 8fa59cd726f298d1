"""How a claim is held against measured points."""

import dataclasses
import math
from collections.abc import Callable, Mapping

from elu_zoo.paper import grouping, statistics
from elu_zoo.paper.experiment import Rows

NOT_DECIDED = "not decided"
VERDICTS = "holds", "does not hold", NOT_DECIDED
NAMES = {
    "elu": "ELU",
    "relu": "ReLU",
    "leaky_relu": "LReLU",
    "shifted_relu": "SReLU",
    "prelu": "PReLU",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """What was found of a claim.

    Attributes:
        n: pairs of runs, rounds or draws; 0 where nothing was measured.
        effect: the difference or ratio that the claim is about.
        low: lower end of its 95 % interval; NaN for none.
        high: upper end.
        p: one-sided, exact; NaN where it is no test.
        verdict: of `statistics.verdict`.
        measure: what the effect is.
    """

    n: int = 0
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    verdict: str = NOT_DECIDED
    measure: str = ""


Values = Mapping[int, float]  # of runs, by seed
Read = Callable[[Mapping[str, Rows]], Values]
Judge = Callable[[Mapping[str, Rows]], Finding]


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes:
        name: of the row; tests know it.
        section: of the paper.
        text: the claim in our words.
        experiment: that decides it.
        judge: from the points of experiments by name; they may be missing.
        ours: it is no claim of the paper, but asked of a unit or measure that the
            paper has not, or has elsewhere.
    """

    name: str
    section: str
    text: str
    experiment: str
    judge: Judge
    ours: bool = False


def lower(
    ours: Read,
    theirs: Read,
    measure: str,
    level: float = 0.05,
    least: int = 5,
    shown: int = 1,
) -> Judge:
    """Returns the judge of a claim that ours are lower than theirs, in pairs.

    Args:
        ours: reads a measure of each run.
        theirs: likewise.
        measure: what the difference is.
        level: of p, from which the claim holds.
        least: fewer pairs decide nothing.
        shown: the effect of fewer pairs is not told: it says nothing of the claim.
    """

    def judge(rows: Mapping[str, Rows]) -> Finding:
        pair = grouping.pairs(ours(rows), theirs(rows))
        if len(pair[0]) < shown:
            return Finding(len(pair[0]), measure=measure)
        found = statistics.paired(*pair)
        return Finding(
            found.n,
            found.difference,
            found.low,
            found.high,
            found.p,
            statistics.verdict(found, level=level, least=least),
            measure,
        )

    return judge


def below(limit: float, read: Read, measure: str) -> Judge:
    """Returns the judge of a claim that a measure is below a limit."""

    def judge(rows: Mapping[str, Rows]) -> Finding:
        values = read(rows)
        if not values:
            return Finding(measure=measure)
        seeds = list(values)
        found = statistics.paired(
            [values[seed] for seed in seeds], [limit] * len(seeds)
        )
        middle = statistics.spread(list(values.values()))
        return Finding(
            found.n,
            middle.mean,
            middle.low,
            middle.high,
            found.p,
            statistics.verdict(found),
            measure,
        )

    return judge


def final(experiment: str, arm: str, measure: str, variant: str = "") -> Read:
    """Returns what reads the last value of a measure of each run.

    Args:
        experiment: its name.
        arm: the activation, with "+bn" after it for batch norm.
        measure: a column.
        variant: of the arm.
    """
    return at(experiment, arm, measure, variant=variant)


def at(
    experiment: str,
    arm: str,
    measure: str,
    where: Mapping[str, str] | None = None,
    variant: str = "",
) -> Read:
    """Returns what reads the last value of a measure among some rows of each run.

    Args:
        experiment: its name.
        arm: the activation, with "+bn" after it for batch norm.
        measure: a column.
        where: what those rows have in other columns; all by default.
        variant: of the arm.
    """
    name, plus, _ = arm.partition("+bn")

    def read(rows: Mapping[str, Rows]) -> Values:
        own = [
            row
            for row in rows.get(experiment, [])
            if all(row[key] == value for key, value in (where or {}).items())
        ]
        return grouping.finals(own, (name, bool(plus), variant), measure)

    return read
