"""Runs as dots above the names of their activations, pairs of one seed joined."""

import dataclasses
import math
import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING

from elu_zoo import errors
from elu_zoo.paper.plots import palette, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHIFT = 0.07  # of the distance of two names, between the runs of two seeds
_MEAN = 0.3  # half the width of a mean's line


@dataclasses.dataclass(frozen=True)
class PairPanel:
    """Runs that share an axis: a dot a run, a thin line a seed.

    A short line marks the mean of an activation with several runs.

    Attributes:
        title: above the panel.
        value: what the dots are, with the unit.
        runs: by activation, in the order shown, a finite number by seed.
    """

    title: str
    value: str
    runs: Mapping[str, Mapping[int, float]]

    @property
    def seeds(self) -> list[int]:
        """The seeds of all activations, sorted."""
        return sorted({seed for values in self.runs.values() for seed in values})


def check(panel: PairPanel) -> None:
    """Checks what can be wrong of paired runs.

    Raises:
        UsageError: an activation has no run, or a value is not finite.
    """
    every = [list(values.values()) for values in panel.runs.values()]
    if not every or not all(every) or not all(map(math.isfinite, sum(every, []))):
        raise errors.UsageError(
            f"The panel {panel.title!r} needs a finite number, or more, of each "
            f"activation. Received: {panel.runs}"
        )


def plot(axes: "Axes", panel: PairPanel, looks: Mapping[str, palette.Look]) -> None:
    """Draws a panel that `check` found right."""
    seeds, names = panel.seeds, list(panel.runs)
    shift = {s: _SHIFT * (i - (len(seeds) - 1) / 2) for i, s in enumerate(seeds)}
    for seed in seeds:
        pair = [(i, panel.runs[n][seed]) for i, n in enumerate(names)
                if seed in panel.runs[n]]  # fmt: skip
        x, y = zip(*pair, strict=True)
        x = [each + shift[seed] for each in x]
        axes.plot(x, y, color="#999999", linewidth=0.7, zorder=2)
    for i, name in enumerate(names):
        values, look = panel.runs[name], looks[name]
        x = [i + shift[seed] for seed in values]
        axes.plot(
            x, list(values.values()), ls="", zorder=3, **sheet.marked(look, False)
        )
        if len(values) > 1:
            mean = statistics.mean(values.values())
            axes.hlines(mean, i - _MEAN, i + _MEAN, color=look.colour, zorder=2.5)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(False, axis="x")
    axes.tick_params(axis="x", length=0)
    sheet.finish(axes, panel.title, "", panel.value)
