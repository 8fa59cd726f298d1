"""Histograms of values >= 0 over many decades, with a separate bin for zeros."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from elu_zoo.pairs.plots import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = 8  # bins in a decade
_MAX_TICKS = 10


@dataclasses.dataclass(frozen=True)
class Histograms:
    """Values of the units of several layers, on one logarithmic x axis.

    Attributes:
        title: text above the first layer.
        xlabel: describes the values.
        values: values >= 0 by activation: one array `(units,)` for each layer.
        decades: decimal logarithms of the ends of the x axis. Values beyond an end are
            counted in the outermost bin. By default the axis contains all values.
    """

    title: str
    xlabel: str
    values: Mapping[str, Sequence[np.ndarray]]
    decades: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class LogAxis:
    """A logarithmic x axis.

    Attributes:
        low: decimal logarithm of the lowest bin's lower edge.
        high: decimal logarithm of the highest bin's upper edge.
        has_zeros: whether any value is 0.
    """

    low: int
    high: int
    has_zeros: bool

    @property
    def zero(self) -> float:
        """The x coordinate at which zeros are drawn."""
        return 10 ** (self.low - 0.6)

    @property
    def edges(self) -> np.ndarray:
        """The edges of all bins; the first bin contains the zeros."""
        count = (self.high - self.low) * _BINS + 1
        bins = np.logspace(self.low, self.high, count)
        return np.concatenate([[self.zero / 1.4, self.zero * 1.4], bins])

    def places(self, values: np.ndarray) -> np.ndarray:
        """Returns the x coordinates at which values are drawn."""
        inside = np.clip(values, 10.0**self.low, 10.0**self.high)
        return np.where(values > 0, inside, self.zero)


def axis(arrays: Sequence[np.ndarray], decades: tuple[int, int] | None = None) -> LogAxis:
    """Returns an axis of the given decades; by default the axis contains all values."""
    values = np.concatenate(arrays)
    positive = values[values > 0]
    if decades is None and positive.size:
        low = math.floor(math.log10(positive.min()))
        decades = low, math.floor(math.log10(positive.max())) + 1
    return LogAxis(*(decades or (-1, 0)), bool((values == 0).any()))


def plot(
    column: Sequence["Axes"], histograms: Histograms, looks: Mapping[str, palette.Look]
) -> None:
    """Draws a histogram of each layer and activation, and marks each median.

    Args:
        column: axes, one for each layer.
        histograms: values of the same layers.
        looks: colours and markers, by activation.
    """
    values = histograms.values
    log_axis = axis([a for layers in values.values() for a in layers], histograms.decades)
    for i, axes in enumerate(column):
        layer = {name: layers[i] for name, layers in values.items()}
        _plot_layer(axes, layer, log_axis, looks)
        title = f"{histograms.title}, " * (i == 0)
        axes.set_title(f"{title}hidden layer {i + 1}")
    column[-1].set_xlabel(histograms.xlabel)


def _plot_layer(
    axes: "Axes", values: Mapping[str, np.ndarray], axis: LogAxis, looks: Mapping[str, palette.Look]
) -> None:
    axes.set_xscale("log")
    for i, (name, units) in enumerate(values.items()):
        colour, x = looks[name].colour, axis.places(np.asarray(units))
        axes.hist(x, axis.edges, histtype="stepfilled", color=colour, alpha=0.3)
        axes.hist(x, axis.edges, histtype="step", color=colour, linewidth=1.3)
        axes.plot(
            axis.places(np.median(units)),
            0.14 * i,  # different heights, so that no marker hides another
            transform=axes.get_xaxis_transform(),
            linestyle="",
            clip_on=False,
            zorder=4,
            label=palette.label(name),
            **looks[name].style(),
        )
    step = math.ceil((axis.high - axis.low + 1) / _MAX_TICKS)
    decades = range(axis.low, axis.high + 1, step)
    ticks = [10.0**decade for decade in decades]
    names = [f"$10^{{{decade}}}$" for decade in decades]
    if axis.has_zeros:
        ticks, names = [axis.zero, *ticks], ["0", *names]
    axes.set_xticks(ticks, names)
    axes.set_xticks([], minor=True)
    axes.set_xlim(axis.edges[0] if axis.has_zeros else 10.0**axis.low, 10.0**axis.high)
