"""Numbers with intervals as dots and whiskers: of depths, noise levels, timings."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from elu_zoo import errors
from elu_zoo.paper.plots import palette, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RULES = (0, (5, 2)), (0, (1, 1)), (0, (5, 1, 1, 1))
_STEP = 0.16  # between the dots of one name
_SHIFT = 0.012  # of the width, between dots at the same number


@dataclasses.dataclass(frozen=True)
class Dots:
    """Numbers of one activation, each with an interval.

    Attributes:
        activation: a name, which chooses colour and marker: what a panel shall tell
            apart, such as two forms of ELU, needs two names.
        x: `(points,)`: numbers, such as layers; or names, such as those of networks.
        middle: `(points,)`; NaN: not measured.
        low: `(points,)`, lower ends of the intervals; NaN: none.
        high: `(points,)`, upper ends.
        batch_norm: of networks with batch normalisation: drawn dashed and hollow.
        label: in the legend; by default the activation's.
    """

    activation: str
    x: Sequence[float] | Sequence[str]
    middle: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    batch_norm: bool = False
    label: str | None = None

    @property
    def shown(self) -> str:
        """The label in the legend."""
        return self.label or palette.label(self.activation, self.batch_norm)


@dataclasses.dataclass(frozen=True)
class DotPanel:
    """Dots that share their axes.

    Where x are numbers, whiskers stand upright and lines join the dots. Where they are
    names, these stand at the left, one below the other, and whiskers lie. Dots at one
    x stand a little apart.

    Attributes:
        title: above the panel.
        name: what x are, such as "layers"; may be "" for names.
        value: what the dots are, with the unit.
        dots: all with numbers, or all with names, as x.
        references: a line across at a value, by its label in the legend, such as
            {"ReLU": 1, "the paper": 1.058}; at most three.
        log: values at a logarithmic axis.
        logx: where x are numbers, at a logarithmic axis.
    """

    title: str
    name: str
    value: str
    dots: Sequence[Dots]
    references: Mapping[str, float] = dataclasses.field(default_factory=dict)
    log: bool = False
    logx: bool = False

    @property
    def names(self) -> list[str]:
        """The names among x, in the order in which they come; none for numbers."""
        every = [x for dots in self.dots for x in dots.x]
        return list(dict.fromkeys(x for x in every if isinstance(x, str)))


def check(panel: DotPanel) -> None:
    """Checks what can be wrong of dots.

    Raises:
        UsageError: lengths differ, an interval ends below where it begins, a value is
            infinite, x are numbers here and names there, or 0 on a logarithmic axis.
    """
    for dots in panel.dots:
        columns = dots.middle, dots.low, dots.high
        if any(len(c) != len(dots.x) or np.isinf(c).any() for c in columns):
            raise errors.UsageError(
                f"The dots of {dots.shown!r} need a finite number, or NaN, and two "
                f"ends for each of {len(dots.x)} x. Received: {dots}"
            )
        if np.greater(dots.low, dots.high).any():
            raise errors.UsageError(
                f"An interval of {dots.shown!r} ends below where it begins."
            )
    kinds = {isinstance(x, str) for dots in panel.dots for x in dots.x}
    if len(kinds) != 1 or len(panel.references) > len(_RULES):
        raise errors.UsageError(
            f"The panel {panel.title!r} needs x that are all numbers or all names, and "
            f"{len(_RULES)} references at most."
        )
    if panel.logx and kinds == {False} and min(x for d in panel.dots for x in d.x) <= 0:
        raise errors.UsageError(
            f"The logarithmic axis of {panel.title!r} has no place for x <= 0."
        )


def plot(axes: "Axes", panel: DotPanel, looks: Mapping[str, palette.Look]) -> list:
    """Draws a panel that `check` found right, and returns entries of the legend."""
    plot_all = _plot_names if panel.names else _plot_numbers
    plot_all(axes, panel, looks)
    across = axes.axvline if panel.names else axes.axhline
    entries = [
        sheet.entry(
            d.shown, looks[d.activation], line=_line(panel, d), hollow=d.batch_norm
        )
        for d in panel.dots
    ]
    for (label, value), line in zip(panel.references.items(), _RULES, strict=False):
        across(value, color="#555555", linestyle=line, linewidth=1, zorder=1.5)
        entries.append(sheet.rule(label, line))
    return entries


def _line(panel: DotPanel, dots: Dots) -> object:
    if panel.names:
        return ""
    return sheet.DASHED if dots.batch_norm else sheet.PLAIN


def _plot_names(
    axes: "Axes", panel: DotPanel, looks: Mapping[str, palette.Look]
) -> None:
    names = panel.names
    # Those of one name stand around it, whatever other names have.
    at = {name: [i for i, d in enumerate(panel.dots) if name in d.x] for name in names}
    step = min(_STEP, 0.7 / max(len(which) for which in at.values()))
    for i, dots in enumerate(panel.dots):
        y = [
            names.index(x) + step * (at[x].index(i) - (len(at[x]) - 1) / 2)
            for x in dots.x
        ]
        low, high = np.array(dots.low, float), np.array(dots.high, float)
        style = _style(dots, looks)
        axes.errorbar((low + high) / 2, y, xerr=(high - low) / 2, **_whisker(style))
        axes.plot(dots.middle, y, linestyle="", **style)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    for i in range(1, len(names), 2):
        axes.axhspan(i - 0.5, i + 0.5, color="#f4f4f4", zorder=0)
    if panel.log:
        axes.set_xscale("log")
    sheet.finish(axes, panel.title, panel.value, panel.name)


def _plot_numbers(
    axes: "Axes", panel: DotPanel, looks: Mapping[str, palette.Look]
) -> None:
    every = np.array([x for dots in panel.dots for x in dots.x], float)
    every = np.log(every) if panel.logx else every
    for i, dots in enumerate(panel.dots):
        shift = _SHIFT * (np.ptp(every) or 1) * (i - (len(panel.dots) - 1) / 2)
        x = np.array(dots.x, float)
        x = x * np.exp(shift) if panel.logx else x + shift
        low, high = np.array(dots.low, float), np.array(dots.high, float)
        style = _style(dots, looks)
        axes.errorbar(x, (low + high) / 2, yerr=(high - low) / 2, **_whisker(style))
        axes.plot(x, dots.middle, linestyle=_line(panel, dots), **style)
    if panel.logx:
        axes.set_xscale("log")
    if panel.log:
        axes.set_yscale("log")
    ticks = sorted({x for dots in panel.dots for x in dots.x})
    if len(ticks) <= 8:
        axes.set_xticks(ticks, [sheet.number(x) for x in ticks])
        axes.set_xticks([], minor=True)
    sheet.finish(axes, panel.title, panel.name, panel.value)


def _style(dots: Dots, looks: Mapping[str, palette.Look]) -> dict:
    marked = sheet.marked(looks[dots.activation], dots.batch_norm)
    return {**marked, "zorder": 3}


def _whisker(style: dict) -> dict:
    return {"fmt": "none", "ecolor": style["color"], "capsize": 2.5, "elinewidth": 1.2}
