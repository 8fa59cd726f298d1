"""Rows of CSV files as arrays: what figures, statistics and claims begin with."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from elu_zoo.paper.experiment import Rows
from elu_zoo.paper.plots.panels import Series

Arm = tuple[str, bool, str]  # activation, batch norm, variant
_PAPERS = "elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu"


def number(text: str) -> float:
    """Returns a cell's number, NaN where it is empty."""
    return float(text) if text else math.nan


def arms(rows: Rows) -> list[Arm]:
    """Returns what is compared, in the order of the paper, then of the alphabet."""
    found = {(r["activation"], r["batch_norm"] == "True", r["variant"]) for r in rows}
    return sorted(found, key=_place)


def _place(arm: Arm) -> tuple:
    name, batch_norm, variant = arm
    place = _PAPERS.index(name) if name in _PAPERS else len(_PAPERS)
    return batch_norm, variant, place, name


def reference(rows: Rows) -> str:
    """Returns the unit that is compared with the others: ELU, or what stands for it.

    Without ELU that is the first unit that the paper does not have, or else the first.
    """
    names = [arm[0] for arm in arms(rows)]
    others = [name for name in names if name not in _PAPERS]
    return "elu" if "elu" in names else (others or names)[0]


def of_arm(rows: Rows, arm: Arm) -> dict[int, Rows]:
    """Returns the rows of an arm by seed."""
    found: dict[int, Rows] = {}
    for row in rows:
        if (row["activation"], row["batch_norm"] == "True", row["variant"]) == arm:
            found.setdefault(int(row["seed"]), []).append(row)
    return dict(sorted(found.items()))


def diverged(rows: Rows) -> bool:
    """Whether a run ended in a loss that is not finite."""
    return any(row.get("diverged") for row in rows)


def finals(rows: Rows, arm: Arm, measure: str) -> dict[int, float]:
    """Returns a measure's last value of each run of an arm, by seed.

    Runs that diverged have none.
    """
    found = {}
    for seed, own in of_arm(rows, arm).items():
        values = [number(row[measure]) for row in own if row[measure]]
        if values and not diverged(own):
            found[seed] = values[-1]
    return found


def pairs(
    ours: Mapping[int, float], theirs: Mapping[int, float]
) -> tuple[list[float], list[float]]:
    """Returns the values of the seeds that both have, in one order."""
    both = ours.keys() & theirs.keys()
    seeds = sorted(s for s in both if math.isfinite(ours[s] - theirs[s]))
    return [ours[s] for s in seeds], [theirs[s] for s in seeds]


def series(
    rows: Rows,
    x: str,
    measure: str,
    which: Iterable[Arm] | None = None,
    **look: object,
) -> list[Series]:
    """Returns the runs of each arm as curves; arms without a point are left out.

    Args:
        rows: of one experiment and budget.
        x: the column along which the curve goes, a number.
        measure: the column that is shown.
        which: arms; all by default.
        look: arguments of `Series`.
    """
    found = []
    for arm in arms(rows) if which is None else which:
        runs = list(of_arm(rows, arm).values())
        curves = [
            {number(r[x]): number(r[measure]) for r in run if r[measure]}
            for run in runs
        ]
        places = sorted({place for curve in curves for place in curve})
        if not places:
            continue
        table = [[curve.get(place, math.nan) for place in places] for curve in curves]
        kept = [run for run in table if not np.isnan(run).all()]
        if not kept:
            continue
        found.append(Series(arm[0], places, kept, batch_norm=arm[1], **look))
    return found


def markdown(titles: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Returns a Markdown table."""
    head = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(map(str, x))} |" for x in lines)])


def spread(values: Sequence[float]) -> str:
    """Returns `mean ± standard deviation` with three digits that count, "" for none."""
    if not values:
        return ""
    mean = f"{np.mean(values):.3g}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.2g}"
