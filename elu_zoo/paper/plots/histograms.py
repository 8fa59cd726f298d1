"""Histograms of numbers over many decades, and of zeros.

An axis is linear in the decimal logarithm, so that it has a place for zeros: a bin of
their own, left of the others.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from elu_zoo import errors
from elu_zoo.paper.plots import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_A_DECADE = 8  # bins
_MOST_TICKS = 10


@dataclasses.dataclass(frozen=True)
class Bins:
    """The bins that all histograms of a figure share.

    Attributes:
        low: the decimal logarithm of the lowest edge.
        high: that of the highest.
        zeros: whether any value is zero.
    """

    low: int
    high: int
    zeros: bool

    @property
    def edges(self) -> np.ndarray:
        """The decimal logarithms of the edges."""
        return np.linspace(self.low, self.high, (self.high - self.low) * _A_DECADE + 1)

    @property
    def zero(self) -> float:
        """Where zeros stand."""
        return self.low - 0.6

    def place(self, values: np.ndarray) -> np.ndarray:
        """Returns where values >= 0 stand on the axis."""
        safe = np.where(values > 0, values, 1.0)
        return np.where(values > 0, np.log10(safe), self.zero)


def checked(name: str, layers: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns the arrays of an activation's layers.

    Raises:
        UsageError: one is empty or no vector, or a value is negative or not finite.
    """
    arrays = [np.asarray(layer, np.float64) for layer in layers]
    for array in arrays:
        good = array.ndim == 1 and array.size and np.isfinite(array).all()
        if not good or (array < 0).any():
            raise errors.UsageError(
                f"A histogram is of finite numbers >= 0. Received, of {name!r}: {array}"
            )
    return arrays


def bins(values: np.ndarray) -> Bins:
    """Returns bins for all values, `(n,)`; whole decades."""
    positive = values[values > 0]
    zeros = positive.size < values.size
    if not positive.size:
        return Bins(-1, 0, zeros)
    low = math.floor(math.log10(positive.min()))
    high = math.floor(math.log10(positive.max())) + 1
    return Bins(low, high, zeros)


def plot(
    axes: "Axes", values: np.ndarray, of: Bins, look: palette.Look, place: float = 0.0
) -> None:
    """Draws the histogram of `(units,)` values > 0, and a marker at their median.

    The median is that of all of them, zeros too. The marker stands at `place` of the
    height, so that one does not hide another.
    """
    counts, edges = np.histogram(of.place(values[values > 0]), of.edges)
    filled = np.flatnonzero(counts)
    if filled.size:
        first, last = filled[0], filled[-1] + 1
        counts, edges = counts[first:last], edges[first : last + 1]
        axes.stairs(counts, edges, fill=True, color=look.colour, alpha=0.3)
        axes.stairs(counts, edges, color=look.colour, linewidth=1.3)
    axes.plot(
        float(of.place(np.median(values))),
        place,
        transform=axes.get_xaxis_transform(),
        color=look.colour,
        marker=look.marker,
        markersize=7,
        markeredgecolor="white",
        clip_on=False,
        zorder=4,
    )


def plot_zeros(
    axes: "Axes",
    values: Mapping[str, np.ndarray],
    of: Bins,
    looks: Mapping[str, palette.Look],
) -> None:
    """Draws how many of each activation's `(units,)` are zero, side by side."""
    width = min(0.25, 0.5 / max(len(values), 1))
    for i, (name, units) in enumerate(values.items()):
        at = of.zero + width * (i - (len(values) - 1) / 2)
        colour = looks[name].colour
        axes.bar(at, (units == 0).sum(), width, color=colour, alpha=0.55)


def label_decades(axes: "Axes", of: Bins) -> None:
    """Writes 0 and the decades below the axis."""
    step = math.ceil((of.high - of.low + 1) / _MOST_TICKS)
    decades = list(range(of.low, of.high + 1, step))
    names = [f"$10^{{{decade}}}$" for decade in decades]
    if of.zeros:
        decades, names = [of.zero, *decades], ["0", *names]
    axes.set_xticks(decades, names)
    axes.set_xlim((of.zero - 0.45) if of.zeros else of.low, of.high)
