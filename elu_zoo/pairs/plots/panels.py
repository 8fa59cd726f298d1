"""Panels of curves: the runs of each activation as a line with their spread.

`figures.draw` draws the panels.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from elu_zoo import errors

Summary = Literal["mean", "quartiles"]
_RIBBON_RUNS = 5  # fewer runs are drawn as thin lines
_AT_CHANCE = 0.995  # share of the chance value above which a run has not learned
_MARGIN = 0.05  # of the axis' length, at both ends


@dataclasses.dataclass(frozen=True)
class Series:
    """Runs of one activation, drawn as a line with their spread.

    The spread of five or more runs is a ribbon. Fewer runs are thin lines.

    Attributes:
        activation: name of an activation, which decides colour and marker.
        x: `(points,)`, rising, such as epochs.
        runs: `(runs, points)`. The array of a run that ended early may be shorter. NaN
            stands for a value that was not measured. Points at which no run has a
            value are left out.
        batch_norm: whether the networks have batch normalisation, which is drawn
            dashed.
        dotted: whether these are validation losses beside training losses: the line is
            dotted and has no spread.
        summary: "mean" with a ribbon of one standard deviation, or "quartiles", which
            is the median with a ribbon between the quartiles.
        ours: whether the paper's figure lacks the activation, which the label says.
    """

    activation: str
    x: Sequence[float]
    runs: Sequence[Sequence[float]]
    batch_norm: bool = False
    dotted: bool = False
    summary: Summary = "mean"
    ours: bool = False


@dataclasses.dataclass(frozen=True)
class Panel:
    """Curves with common axes.

    Attributes:
        title: text above the panel.
        xlabel: label of the x axis, with its unit.
        ylabel: label of the y axis, with its unit.
        series: curves in the order of the legend.
        xlim: (low, high); by default all points are visible.
        ylim: (low, high); by default all points are visible.
        logx: whether the x axis is logarithmic.
        logy: whether the y axis is logarithmic.
        chance: y of a network that guesses, drawn as a line. If only some runs of a
            series end near this y, all runs of the series are thin lines without a
            mean, because no run is near the mean.
    """

    title: str
    xlabel: str
    ylabel: str
    series: Sequence[Series]
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    logx: bool = False
    logy: bool = False
    chance: float | None = None


@dataclasses.dataclass(frozen=True)
class Curve:
    """Line and spread of a series.

    Attributes:
        x: `(points,)`, the points at which at least one run has a value.
        middle: `(points,)`, the mean or median; None if only the runs are drawn.
        low: `(points,)`, lower end of the ribbon or of the thin lines.
        high: `(points,)`, upper end of the ribbon or of the thin lines.
        thin: `(runs, points)`, runs drawn as thin lines instead of a ribbon.
    """

    x: np.ndarray
    middle: np.ndarray | None
    low: np.ndarray
    high: np.ndarray
    thin: np.ndarray


def curve(series: Series, *, logy: bool = False, chance: float | None = None) -> Curve:
    """Returns the line and the spread of a series.

    Args:
        series: has at least one run with at least one value.
        logy: whether the y axis is logarithmic: the ribbon of a standard deviation
            then ends at the lowest run, because it could reach below 0.
        chance: see `Panel`.
    """
    x = np.asarray(series.x, np.float64)
    runs = np.full((len(series.runs), len(x)), np.nan)
    for row, values in zip(runs, series.runs, strict=True):
        row[: len(values)] = values
    measured = ~np.isnan(runs).all(axis=0)
    x, runs = x[measured], runs[:, measured]
    mean = series.summary == "mean"
    middle = np.nanmean(runs, axis=0) if mean else np.nanmedian(runs, axis=0)
    no_runs = runs[:0]
    lowest, highest = np.nanmin(runs, axis=0), np.nanmax(runs, axis=0)
    if series.dotted or len(runs) == 1:
        return Curve(x, middle, middle, middle, no_runs)
    if _is_bimodal(runs, chance):
        return Curve(x, None, lowest, highest, runs)
    if len(runs) < _RIBBON_RUNS:
        return Curve(x, middle, lowest, highest, runs)
    if series.summary == "quartiles":
        return Curve(x, middle, *np.nanpercentile(runs, [25, 75], axis=0), no_runs)
    count = (~np.isnan(runs)).sum(axis=0)
    squares = np.nansum((runs - middle) ** 2, axis=0)
    deviation = np.sqrt(squares / np.maximum(count - 1, 1))
    low = middle - deviation
    if logy:
        low = np.maximum(low, lowest)
    return Curve(x, middle, low, middle + deviation, no_runs)


def _is_bimodal(runs: np.ndarray, chance: float | None) -> bool:
    """Returns whether some runs end at chance and others do not."""
    if chance is None:
        return False
    ends = [run[~np.isnan(run)][-1] for run in runs]
    at_chance = np.array(ends) >= _AT_CHANCE * chance
    return bool(at_chance.any() and not at_chance.all())


def zoom(panel: Panel, low: float, high: float, title: str | None = None) -> Panel:
    """Returns the panel with its x axis from low to high.

    The y axis fits the visible part of the curves.

    Args:
        panel: the whole panel.
        low: lower end of the x axis.
        high: upper end of the x axis.
        title: title of the new panel; by default the same title.
    """
    curves = [curve(series, logy=panel.logy, chance=panel.chance) for series in panel.series]
    visible = [
        _visible(each.x, y, low, high, panel) for each in curves for y in (each.low, each.high)
    ]
    values = np.concatenate(visible) if visible else np.empty(0)
    if not values.size:
        raise errors.UsageError(
            f"A part of the panel {panel.title!r} must contain a point of a curve, but "
            f"there is none from {low} to {high}. Pass other ends."
        )
    # A constant curve has no range, and is shown in the middle of the axis.
    margin = np.ptp(values) * _MARGIN or abs(values[0]) * _MARGIN or 1.0
    ylim = np.array([values.min() - margin, values.max() + margin])
    if panel.logy:
        ylim = np.exp(ylim)
    return dataclasses.replace(
        panel,
        title=panel.title if title is None else title,
        xlim=(low, high),
        ylim=tuple(ylim.tolist()),
    )


def _visible(x: np.ndarray, y: np.ndarray, low: float, high: float, panel: Panel) -> np.ndarray:
    """Returns a curve's y values from low to high, and at both ends.

    The y values are interpolated at the ends. On a logarithmic y axis the logarithms
    of the values are returned.
    """
    shown = np.full(len(x), True)
    if panel.logx:
        shown &= x > 0
    if panel.logy:
        shown &= y > 0
    x, y = x[shown], y[shown]
    inside = (x >= low) & (x <= high)
    crossed = [end for end in (low, high) if x.size and x[0] < end < x[-1]]
    if panel.logy:
        y = np.log(y)
    scaled_x = np.log(x) if panel.logx else x
    ends = np.log(crossed) if panel.logx else crossed
    crossings = np.interp(ends, scaled_x, y) if crossed else np.empty(0)
    return np.concatenate([y[inside], crossings])
