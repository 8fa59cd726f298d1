"""Panels of paired runs: a column of dots for each activation, a line for each seed."""

import dataclasses
import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING

from elu_zoo.pairs.plots import palette, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SEED_SHIFT = 0.07  # largest distance of two seeds; activations have a distance of 1
_COLUMN_WIDTH = 0.8  # of all seeds of an activation
_MEAN_WIDTH = 0.3  # half the length of a mean's line


@dataclasses.dataclass(frozen=True)
class PairPanel:
    """Paired runs on one axis.

    A thin line joins the runs of a seed. A short line shows the mean of an activation.

    Attributes:
        title: text above the panel.
        value: label of the y axis, with its unit.
        runs: for each activation, in the order of the columns, a number by seed.
    """

    title: str
    value: str
    runs: Mapping[str, Mapping[int, float]]


def plot(axes: "Axes", panel: PairPanel, looks: Mapping[str, palette.Look]) -> None:
    """Draws a panel."""
    names = list(panel.runs)
    seeds = sorted({seed for values in panel.runs.values() for seed in values})
    middle = (len(seeds) - 1) / 2
    distance = min(_SEED_SHIFT, _COLUMN_WIDTH / len(seeds))
    for i, seed in enumerate(seeds):
        shift = distance * (i - middle)
        columns = [j for j, name in enumerate(names) if seed in panel.runs[name]]
        x = [column + shift for column in columns]
        y = [panel.runs[names[column]][seed] for column in columns]
        axes.plot(x, y, color="#999999", linewidth=0.7, zorder=2)
        for column, dot_x, dot_y in zip(columns, x, y, strict=True):
            style = looks[names[column]].style()
            axes.plot(dot_x, dot_y, linestyle="", zorder=3, **style)
    for column, name in enumerate(names):
        values = panel.runs[name].values()
        if len(values) > 1:
            ends = column - _MEAN_WIDTH, column + _MEAN_WIDTH
            axes.hlines(statistics.mean(values), *ends, color=looks[name].colour)
    axes.set_xticks(range(len(names)), [palette.label(name) for name in names])
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(False, axis="x")
    axes.tick_params(axis="x", length=0)
    sheet.finish(axes, panel.title, "", panel.value)
