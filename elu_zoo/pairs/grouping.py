"""Rows of an experiment's CSV file, grouped by arm and by seed."""

import math
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from elu_zoo.pairs.plots.dots import Dots
from elu_zoo.pairs.plots.panels import Series

Rows = list[dict[str, str]]
_OF_THE_PAPER = "elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu"


class Arm(NamedTuple):
    """The settings that distinguish the networks of one experiment.

    Attributes:
        activation: name of the activation.
        batch_norm: whether the network has batch normalisation.
        variant: another difference, such as the learning rate; "" for none.
    """

    activation: str
    batch_norm: bool = False
    variant: str = ""


def arms(rows: Rows) -> list[Arm]:
    """Returns the arms: first the paper's activations, then the others by name."""

    def sort_key(arm: Arm) -> tuple:
        names = _OF_THE_PAPER
        is_of_paper = arm.activation in names
        order = names.index(arm.activation) if is_of_paper else len(names)
        return arm.batch_norm, arm.variant, order, arm.activation

    return sorted({_arm(row) for row in rows}, key=sort_key)


def reference(rows: Rows) -> str:
    """Returns the activation that is compared with all others.

    This is ELU if there are rows of ELU, or else the first activation.
    """
    names = [arm.activation for arm in arms(rows)]
    return "elu" if "elu" in names else names[0]


def by_seed(rows: Rows, arm: Arm) -> dict[int, Rows]:
    """Returns the rows of each run of an arm, by seed."""
    runs: dict[int, Rows] = {}
    for row in rows:
        if _arm(row) == arm:
            runs.setdefault(int(row["seed"]), []).append(row)
    return dict(sorted(runs.items()))


def diverged(run: Rows) -> bool:
    """Returns whether a run ended because its loss was not finite."""
    return any(row.get("diverged") for row in run)


def final_values(rows: Rows, arm: Arm, column: str) -> dict[int, float]:
    """Returns a column's last value in each run of an arm, by seed.

    Runs that diverged are left out.
    """
    last = {}
    for seed, run in by_seed(rows, arm).items():
        values = [float(row[column]) for row in run if row[column]]
        if values and not diverged(run):
            last[seed] = values[-1]
    return last


def pairs(
    first: Mapping[int, float], second: Mapping[int, float]
) -> tuple[list[float], list[float]]:
    """Returns the values of both arms for their common seeds, if both are finite."""
    common = first.keys() & second.keys()
    seeds = sorted(s for s in common if math.isfinite(first[s] - second[s]))
    return [first[s] for s in seeds], [second[s] for s in seeds]


def series(
    rows: Rows,
    x: str,
    column: str,
    which: Iterable[Arm] | None = None,
    ours: Container[str] = (),
    **style: object,
) -> list[Series]:
    """Returns the runs of each arm as curves; arms without a point are left out.

    Args:
        rows: rows of one experiment and budget.
        x: the column of the horizontal axis.
        column: the column of the vertical axis.
        which: the arms to return; None returns all arms.
        ours: activations that the paper's figure lacks.
        style: arguments of `Series`.
    """
    curves_of_arms = []
    for arm in arms(rows) if which is None else which:
        curves = [
            {float(row[x]): float(row[column]) for row in run if row[column]}
            for run in by_seed(rows, arm).values()
        ]
        points = sorted({point for curve in curves for point in curve})
        table = [[curve.get(point, math.nan) for point in points] for curve in curves]
        runs = [run for run in table if not np.isnan(run).all()]
        if runs:
            of_arm = {"batch_norm": arm.batch_norm, "ours": arm.activation in ours}
            arm_series = Series(arm.activation, points, runs, **of_arm, **style)
            curves_of_arms.append(arm_series)
    return curves_of_arms


def dots(activation: str, values: Mapping[str | float, list[float]]) -> Dots:
    """Returns means and standard deviations over runs.

    Args:
        activation: name that decides colour and marker.
        values: values of the runs, by position on the horizontal axis.
    """
    means = [float(np.mean(runs)) for runs in values.values()]
    deviations = [
        float(np.std(runs, ddof=1)) if len(runs) > 1 else math.nan for runs in values.values()
    ]
    low = [mean - d for mean, d in zip(means, deviations, strict=True)]
    high = [mean + d for mean, d in zip(means, deviations, strict=True)]
    return Dots(activation, list(values), means, low, high)


def _arm(row: dict[str, str]) -> Arm:
    return Arm(row["activation"], row["batch_norm"] == "True", row["variant"])
