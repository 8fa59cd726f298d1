"""Curves of several runs, as numbers: what a figure shows of them, and where.

`figures.draw` draws the panels.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from elu_zoo import errors

Summary = Literal["mean", "median", "quartiles"]
_SUMMARIES = "mean", "median", "quartiles"
_MARGIN = 0.05  # of the height, above and below


@dataclasses.dataclass(frozen=True)
class Series:
    """The runs of one activation, drawn as a line and a ribbon.

    Attributes:
        activation: a name, which chooses colour and marker: "elu", or anybody's own.
        x: `(points,)`, rising, such as epochs.
        runs: `(runs, points)`, or one array a run, where a shorter one ended early.
            NaN: not measured there. A point that no run has is left out; another is
            of the runs that have it.
        batch_norm: of a network with batch normalisation: drawn dashed.
        dotted: drawn dotted, without ribbon, such as the validation curve beside the
            training curve; `Panel.dotted` says in the legend what that is.
        summary: "mean", with a ribbon of a standard deviation to both sides, on a
            logarithmic axis no lower than the lowest run;
            "median", without one; "quartiles": the median, with a ribbon between
            the quartiles. One run is a line alone.
        label: in the legend; by default the activation's, such as "ELU + BN".
    """

    activation: str
    x: Sequence[float]
    runs: Sequence[Sequence[float]]
    batch_norm: bool = False
    dotted: bool = False
    summary: Summary = "mean"
    label: str | None = None


@dataclasses.dataclass(frozen=True)
class Panel:
    """Curves that share their axes.

    Attributes:
        title: above the panel, at the left.
        xlabel: with the unit.
        ylabel: with the unit.
        series: drawn in this order, but ELU last, on top.
        xlim: (low, high); by default what the curves need.
        ylim: likewise.
        logx: a logarithmic axis.
        logy: likewise.
        dotted: what dotted curves are, such as "validation".

    Raises:
        UsageError: limits that do not rise, or begin at 0 or below on a logarithmic
            axis.
    """

    title: str
    xlabel: str
    ylabel: str
    series: Sequence[Series]
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    logx: bool = False
    logy: bool = False
    dotted: str = "validation"

    def __post_init__(self):
        for limits, log in (self.xlim, self.logx), (self.ylim, self.logy):
            low, high = limits or (1, 2)
            if not -np.inf < low < high < np.inf or (log and low <= 0):
                raise errors.UsageError(
                    f"The limits of {self.title!r} must rise, and be above 0 on a "
                    f"logarithmic axis. Received: {limits}"
                )


@dataclasses.dataclass(frozen=True)
class Curve:
    """What is drawn of a series.

    Attributes:
        x: `(points,)`, those where something was measured.
        middle: `(points,)`, the line.
        low: `(points,)`, the ribbon's lower edge; the line where there is no ribbon.
        high: `(points,)`, its upper edge.
    """

    x: np.ndarray
    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray


def curve(series: Series, logy: bool = False) -> Curve:
    """Returns the line and the ribbon of a series.

    The standard deviation is that of the population of runs, from n - 1; where a
    single run has a point, the ribbon has no height. On a logarithmic axis, where it
    may reach below 0, a ribbon ends at the lowest run.

    Raises:
        UsageError: `x` does not rise, a run is longer than `x`, a value is infinite,
            nothing was measured, or there is no such summary.
    """
    x = np.asarray(series.x, np.float64)
    runs = _table(series, len(x))
    if x.ndim != 1 or not (np.diff(x) > 0).all() or not np.isfinite(x).all():
        raise errors.UsageError(
            f"The x of {series.activation!r} must rise. Received: {x}"
        )
    if np.isinf(runs).any() or np.isnan(runs).all():
        raise errors.UsageError(
            f"The runs of {series.activation!r} must be finite numbers, or NaN where "
            "nothing was measured, and something must have been."
        )
    known = ~np.isnan(runs).all(axis=0)
    x, runs = x[known], runs[:, known]
    if series.summary != "mean":
        middle = np.nanmedian(runs, axis=0)
        if series.summary == "median" or series.dotted:
            return Curve(x, middle, middle, middle)
        return Curve(x, middle, *np.nanpercentile(runs, [25, 75], axis=0))
    middle = np.nanmean(runs, axis=0)
    count = (~np.isnan(runs)).sum(axis=0)
    squares = np.nansum((runs - middle) ** 2, axis=0)
    deviation = np.sqrt(squares / np.maximum(count - 1, 1)) * (not series.dotted)
    low = middle - deviation
    if logy:
        low = np.where(deviation > 0, np.maximum(low, np.nanmin(runs, axis=0)), low)
    return Curve(x, middle, low, middle + deviation)


def seen(series: Series, panel: Panel) -> Curve:
    """Returns the curve of a series as far as the panel's axes can show it.

    Raises:
        UsageError: that is nowhere, or the series is wrong.
    """
    found = curve(series, panel.logy)
    found = _part(found, found.x > 0 if panel.logx else found.x > -np.inf)
    if not found.x.size or (panel.logy and not (found.middle > 0).any()):
        raise errors.UsageError(
            f"A logarithmic axis of {panel.title!r} shows nothing of "
            f"{series.activation!r}: there is no point above 0."
        )
    return found


def zoom(panel: Panel, low: float, high: float, title: str | None = None) -> Panel:
    """Returns the panel's part with low <= x <= high, such as its start or its end.

    The y axis fits what is seen there, lines that come in from beside it too.

    Args:
        panel: the whole.
        low: the lower end of x.
        high: the upper end of x.
        title: of the part; by default the panel's.

    Raises:
        UsageError: no curve has a point there, or a series is wrong.
    """
    curves = [curve(series, panel.logy) for series in panel.series]
    ribbons = [(each.x, y) for each in curves for y in (each.low, each.high)]
    if panel.logx:
        ribbons = [(x[x > 0], y[x > 0]) for x, y in ribbons]
    if panel.logy:
        ribbons = [(x[y > 0], y[y > 0]) for x, y in ribbons]
    values = np.concatenate([y[(x >= low) & (x <= high)] for x, y in ribbons])
    if not values.size or not low < high:
        raise errors.UsageError(
            f"The panel {panel.title!r} has no point from {low} to {high}."
        )
    edges = [_at(edge, *each, panel) for edge in (low, high) for each in ribbons]
    values = np.concatenate([values, *edges])
    return dataclasses.replace(
        panel,
        title=panel.title if title is None else title,
        xlim=(low, high),
        ylim=_limits(values, panel.logy),
    )


def _at(edge: float, x: np.ndarray, y: np.ndarray, panel: Panel) -> np.ndarray:
    """Returns where a line crosses the edge, nothing where it does not."""
    if not x.size or not x[0] < edge < x[-1]:
        return np.empty(0)
    if panel.logx:
        edge, x = np.log(edge), np.log(x)
    found = np.interp([edge], x, np.log(y) if panel.logy else y)
    return np.exp(found) if panel.logy else found


def _part(whole: Curve, points: np.ndarray) -> Curve:
    return Curve(*(getattr(whole, f.name)[points] for f in dataclasses.fields(Curve)))


def _limits(values: np.ndarray, log: bool) -> tuple[float, float]:
    ends = np.array([values.min(), values.max()])
    ends = np.log(ends) if log else ends
    # Where all is level, a line stands in the middle.
    margin = np.ptp(ends) * _MARGIN or abs(ends[0]) * _MARGIN or 1.0
    ends = ends + [-margin, margin]
    ends = np.exp(ends) if log else ends
    return float(ends[0]), float(ends[1])


def _table(series: Series, points: int) -> np.ndarray:
    """Returns `(runs, points)`, with NaN where a run had ended."""
    if series.summary not in _SUMMARIES:
        raise errors.UsageError(
            f"A summary is one of {', '.join(_SUMMARIES)}. Received: {series.summary!r}"
        )
    table = np.full((len(series.runs), points), np.nan)
    for row, run in zip(table, series.runs, strict=True):
        values = np.asarray(run, np.float64)
        if values.ndim != 1 or len(values) > points:
            raise errors.UsageError(
                f"A run of {series.activation!r} has at most the {points} points of "
                f"x. Received an array of shape {values.shape}."
            )
        row[: len(values)] = values
    return table
