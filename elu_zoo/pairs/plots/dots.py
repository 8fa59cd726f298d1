"""Panels of dots with error bars, such as errors by depth or times by network."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from elu_zoo.pairs.plots import palette, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = "--", ":", "-."  # line styles of the references
_NAME_STEP = 0.16  # distance of the dots at one name; names have a distance of 1
_SPREAD = 0.15  # width of the error bars at a number, divided by that of the numbers
_MAX_TICKS = 8


@dataclasses.dataclass(frozen=True)
class Dots:
    """Numbers of one activation, each with an interval.

    Attributes:
        activation: name of an activation, which decides colour and marker.
        x: `(points,)`, all numbers, such as layers, or all names, such as networks.
        middle: `(points,)`; NaN stands for a value that was not measured.
        low: `(points,)`, lower ends of the intervals; NaN stands for no interval.
        high: `(points,)`, upper ends of the intervals.
        batch_norm: whether the networks have batch normalisation, which is drawn
            dashed and hollow.
    """

    activation: str
    x: Sequence[float] | Sequence[str]
    middle: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    batch_norm: bool = False


@dataclasses.dataclass(frozen=True)
class DotPanel:
    """Dots with common axes.

    Numbers are on the x axis, and lines join their dots. Names are on the y axis, and
    their error bars are horizontal. Dots at the same name are drawn a little apart. A
    dot stands on its number, and its error bar a little beside it if there are others.

    Attributes:
        title: text above the panel.
        name: label of the axis of `x`, such as "layers"; may be "" for names.
        value: label of the other axis, with the unit.
        dots: all with numbers, or all with names.
        references: values that are drawn as lines, by label in the legend, such as
            {"ReLU": 1}; at most three.
        logx: whether the axis of numbers is logarithmic.
        ylim: (low, high) of values beside numbers; by default all dots are visible.
    """

    title: str
    name: str
    value: str
    dots: Sequence[Dots]
    references: Mapping[str, float] = dataclasses.field(default_factory=dict)
    logx: bool = False
    ylim: tuple[float, float] | None = None

    @property
    def names(self) -> list[str]:
        """All different names among `x`, in their order; [] for numbers."""
        every = [x for dots in self.dots for x in dots.x]
        return list(dict.fromkeys(x for x in every if isinstance(x, str)))


def height(panel: DotPanel) -> float:
    """Returns the height of a panel in inches."""
    if not panel.names:
        return 2.8
    return 0.9 + len(panel.names) * max(0.3, _NAME_STEP * len(panel.dots))


def plot(axes: "Axes", panel: DotPanel, looks: Mapping[str, palette.Look]) -> None:
    """Draws a panel."""
    if panel.names:
        _plot_names(axes, panel, looks)
    else:
        _plot_numbers(axes, panel, looks)
    draw_line = axes.axvline if panel.names else axes.axhline
    for (label, value), line in zip(panel.references.items(), _LINES, strict=False):
        draw_line(value, color="#555555", linestyle=line, linewidth=1, label=label)


def _plot_names(axes: "Axes", panel: DotPanel, looks: Mapping[str, palette.Look]) -> None:
    names = panel.names
    # A name may lack some of the activations: its dots are centred on the name.
    present = {name: [i for i, dots in enumerate(panel.dots) if name in dots.x] for name in names}
    step = min(_NAME_STEP, 0.7 / max(map(len, present.values())))
    for i, dots in enumerate(panel.dots):
        y = []
        for x in dots.x:
            offset = present[x].index(i) - (len(present[x]) - 1) / 2
            y.append(names.index(x) + step * offset)
        axes.errorbar(dots.middle, y, xerr=_errors(dots), linestyle="", **_style(dots, looks))
    sheet.finish(axes, panel.title, panel.value, panel.name)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    for i in range(1, len(names), 2):
        axes.axhspan(i - 0.5, i + 0.5, color="#f4f4f4", zorder=0)


def _plot_numbers(axes: "Axes", panel: DotPanel, looks: Mapping[str, palette.Look]) -> None:
    ticks = sorted({x for dots in panel.dots for x in dots.x})
    distances = np.diff(np.log(ticks) if panel.logx else ticks)
    step = _SPREAD * min(distances, default=1) / len(panel.dots)
    for i, dots in enumerate(panel.dots):
        line, look = "--" if dots.batch_norm else "-", looks[dots.activation]
        axes.plot(dots.x, dots.middle, linestyle=line, **_style(dots, looks))
        if (lengths := _errors(dots)) is not None:
            shift = step * (i - (len(panel.dots) - 1) / 2)
            x = np.array(dots.x, float)
            x = x * np.exp(shift) if panel.logx else x + shift
            bars = {"fmt": "none", "ecolor": look.colour, "elinewidth": 1}
            axes.errorbar(x, dots.middle, yerr=lengths, **bars)
    if panel.logx:
        axes.set_xscale("log")
    if panel.ylim:
        axes.set_ylim(panel.ylim)
    sheet.finish(axes, panel.title, panel.name, panel.value)
    if len(ticks) <= _MAX_TICKS:
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.set_xticks([], minor=True)


def _style(dots: Dots, looks: Mapping[str, palette.Look]) -> dict[str, object]:
    label = palette.label(dots.activation, dots.batch_norm)
    return {**looks[dots.activation].style(dots.batch_norm), "label": label}


def _errors(dots: Dots) -> np.ndarray | None:
    """Returns the lengths of the error bars, `(2, points)`; None for no intervals."""
    lengths = np.subtract([dots.middle, dots.high], [dots.low, dots.middle])
    lengths[:, (lengths == 0).all(0)] = np.nan  # a single run has no interval
    if np.isnan(lengths).all():
        return None
    return np.maximum(lengths, 0)  # rounding may make a length negative
