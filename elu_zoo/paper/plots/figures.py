"""The figures: `<stem>.png` for a README and `<stem>.svg` for a paper.

Each function writes both, atomically, the same bytes for the same data. A PNG is at
most 1600 pixels wide and smaller than 200 kB. Colours and markers are those of
`palette`.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elu_zoo import errors
from elu_zoo.paper.plots import dots, histograms, paired_dots, palette, sheet
from elu_zoo.paper.plots.dots import DotPanel
from elu_zoo.paper.plots.paired_dots import PairPanel
from elu_zoo.paper.plots.panels import Curve, Panel, Series, seen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Looks = Mapping[str, palette.Look]
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
_ROW, _LEGEND = 2.4, 0.4  # inches
_MARKERS = 6  # on a line


def draw(
    rows: Sequence[Sequence[Panel | None]], stem: Path, *, height: float | None = None
) -> None:
    """Draws panels of curves in rows and columns, with one legend below.

    Args:
        rows: rows of panels, all of a length; None leaves a place empty.
        stem: the path without suffix.
        height: inches, of a figure 8 inches wide; by default by the rows.

    Raises:
        UsageError: matplotlib is not installed, or a series is wrong.
        OSError: the folder cannot be written.
    """
    panels = [panel for row in rows for panel in row if panel is not None]
    if len({len(row) for row in rows}) != 1 or not any(p.series for p in panels):
        raise errors.UsageError(
            "A figure is rows of as many panels each, with something to draw. "
            f"Received rows of {[len(row) for row in rows]} panels."
        )
    looks = palette.looks(s.activation for p in panels for s in p.series)
    with sheet.sheet(stem, height or _ROW * len(rows) + _LEGEND) as figure:
        grid = figure.subplots(len(rows), len(rows[0]), squeeze=False)
        for axes, panel in zip(grid.flat, itertools.chain(*rows), strict=True):
            if panel is None:
                axes.set_visible(False)
            else:
                _plot(axes, panel, looks)
        sheet.legend(figure, _entries(panels, looks))


def _plot(axes: "Axes", panel: Panel, looks: Looks) -> None:
    curves = [seen(series, panel) for series in panel.series]
    for i, (series, found) in enumerate(zip(panel.series, curves, strict=True)):
        marked = _marked(found.x, panel, i / len(curves))
        _plot_curve(axes, series, found, looks[series.activation], marked)
    if panel.logx:
        axes.set_xscale("log")
    if panel.logy:
        axes.set_yscale("log")
    axes.margins(x=0.02)
    if panel.xlim is not None:
        axes.set_xlim(panel.xlim)
    if panel.ylim is not None:
        axes.set_ylim(panel.ylim)
    if not panel.logx and all((found.x % 1 == 0).all() for found in curves):
        axes.xaxis.get_major_locator().set_params(integer=True)
    sheet.finish(axes, panel.title, panel.xlabel, panel.ylabel)


def _plot_curve(
    axes: "Axes", series: Series, found: Curve, look: palette.Look, marked: list[int]
) -> None:
    top = series.activation == "elu" and not series.dotted
    axes.plot(
        found.x,
        found.middle,
        linestyle=_line(series),
        linewidth=2.2 if top else 1.5,
        markevery=marked,
        zorder=3 if top else 2.5,
        **sheet.marked(look, series.dotted or series.batch_norm),
    )
    if (found.low < found.high).any():
        axes.fill_between(
            found.x,
            found.low,
            found.high,
            color=look.colour,
            alpha=0.12 if series.batch_norm else 0.2,
            linewidth=0,
        )


def _marked(x: np.ndarray, panel: Panel, place: float) -> list[int]:
    """Returns the points with a marker: a few, at other places for each series."""
    low, high = (x[0], x[-1]) if panel.xlim is None else panel.xlim
    inside = np.flatnonzero((x >= low) & (x <= high))
    if len(inside) <= _MARKERS:
        return inside.tolist()
    shown = np.log(x[inside]) if panel.logx else x[inside]
    wanted = (np.arange(_MARKERS) + 0.1 + 0.9 * place) / _MARKERS
    wanted = shown[0] + wanted * (shown[-1] - shown[0])
    return sorted({int(inside[abs(shown - each).argmin()]) for each in wanted})


def _line(series: Series) -> object:
    if series.dotted:
        return sheet.DOTTED
    return sheet.DASHED if series.batch_norm else sheet.PLAIN


def _entries(panels: Sequence[Panel], looks: Looks) -> list:
    """Returns the legend: each activation once, then what dotted curves are."""
    entries = {}
    every = [series for panel in panels for series in panel.series]
    for series in sorted(every, key=lambda s: s.dotted):
        plain = palette.label(series.activation, series.batch_norm)
        label = series.label or plain
        line = sheet.DASHED if series.batch_norm else sheet.PLAIN
        entry = sheet.entry(
            label, looks[series.activation], line=line, hollow=series.batch_norm
        )
        entries.setdefault(label, entry)
    for panel in panels:
        if any(series.dotted for series in panel.series):
            entries.setdefault(panel.dotted, sheet.rule(panel.dotted, sheet.DOTTED))
    return list(entries.values())


def functions(
    of: Mapping[str, Arrays], stem: Path, *, height: float | None = None
) -> None:
    """Draws activation functions beside their derivatives, as figure 1 of the paper.

    Args:
        of: by activation `(x, y, dy)`, each `(points,)`.
        stem: the path without suffix.
        height: inches, of a figure 8 inches wide.

    Raises:
        UsageError: matplotlib is not installed, or a curve is wrong.
        OSError: the folder cannot be written.
    """
    values = [Series(name, x, [y]) for name, (x, y, _) in of.items()]
    slopes = [Series(name, x, [dy]) for name, (x, _, dy) in of.items()]
    draw(
        [[Panel("a  activation", "x", "f(x)", values),
          Panel("b  derivative", "x", "f\N{PRIME}(x)", slopes)]],
        stem,
        height=height or 3.2,
    )  # fmt: skip


def bars(
    panels: Sequence[DotPanel],
    stem: Path,
    *,
    height: float | None = None,
    columns: int | None = None,
) -> None:
    """Draws dots with intervals, panels side by side, with one legend below.

    Args:
        panels: one or more.
        stem: the path without suffix.
        height: inches, of a figure 8 inches wide; by default by the names and rows.
        columns: panels side by side; all of them by default.

    Raises:
        UsageError: matplotlib is not installed, or dots are wrong.
        OSError: the folder cannot be written.
    """
    if not panels:
        raise errors.UsageError("A figure needs a panel.")
    for panel in panels:
        dots.check(panel)
    looks = palette.looks(d.activation for panel in panels for d in panel.dots)
    names = max(len(panel.names) for panel in panels)
    of_names = 0.9 + names * max(0.3, 0.16 * max(len(p.dots) for p in panels))
    columns = columns or len(panels)
    rows = -(-len(panels) // columns)
    height = height or rows * (of_names if names else 2.8) + _LEGEND
    with sheet.sheet(stem, height) as figure:
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        entries = {}
        for i, (axes, panel) in enumerate(zip(grid, panels, strict=False)):
            for entry in dots.plot(axes, panel, looks):
                entries.setdefault(entry.get_label(), entry)
            if i % columns and panel.names and panel.names == panels[0].names:
                axes.tick_params(labelleft=False)
        sheet.legend(figure, list(entries.values()))


def paired(
    panels: Sequence[PairPanel], stem: Path, *, height: float | None = None
) -> None:
    """Draws runs as dots, pairs of one seed joined, panels side by side.

    Args:
        panels: one or more.
        stem: the path without suffix.
        height: inches, of a figure 8 inches wide.

    Raises:
        UsageError: matplotlib is not installed, or a panel is empty.
        OSError: the folder cannot be written.
    """
    if not panels:
        raise errors.UsageError("A figure needs a panel.")
    for panel in panels:
        paired_dots.check(panel)
    looks = palette.looks(name for panel in panels for name in panel.runs)
    widths = [len(panel.runs) for panel in panels]
    with sheet.sheet(stem, height or 3.2) as figure:
        grid = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)
        for axes, panel in zip(grid.flat, panels, strict=True):
            paired_dots.plot(axes, panel, looks)


def distributions(
    values: Mapping[str, Sequence[np.ndarray]],
    stem: Path,
    *,
    xlabel: str,
    ylabel: str = "units",
    rows: Sequence[str] | None = None,
) -> None:
    """Draws a histogram for each layer and activation, as figure 7 of the paper.

    The axis is logarithmic; zeros, of units that never changed, are counted in a bin
    of their own at its left. A marker shows the median of each, one above the other.

    Args:
        values: by activation `(units,)` for each layer, >= 0.
        stem: the path without suffix.
        xlabel: what the values are.
        ylabel: what is counted.
        rows: titles of the layers; "layer 1", ... by default.

    Raises:
        UsageError: matplotlib is not installed, numbers of layers differ, or a value
            is negative or not finite.
        OSError: the folder cannot be written.
    """
    arrays = {name: histograms.checked(name, layers) for name, layers in values.items()}
    count = max((len(layers) for layers in arrays.values()), default=0)
    titles = rows or [f"layer {i + 1}" for i in range(count)]
    if not count or any(len(a) != len(titles) for a in arrays.values()):
        raise errors.UsageError(
            "Each activation needs an array for each layer. Received: "
            f"{ {name: len(layers) for name, layers in arrays.items()} }, for "
            f"{len(titles)} titles."
        )
    looks = palette.looks(arrays)
    every = np.concatenate([a for layers in arrays.values() for a in layers])
    bins = histograms.bins(every)
    with_zeros = [name for name, a in arrays.items() if (np.concatenate(a) == 0).any()]
    with sheet.sheet(stem, 1.1 * count + 0.5 + _LEGEND) as figure:
        grid = figure.subplots(count, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for i, (axes, title) in enumerate(zip(grid, titles, strict=True)):
            axes.set_title(title)
            for j, (name, layers) in enumerate(arrays.items()):
                histograms.plot(axes, layers[i], bins, looks[name], 0.14 * j)
            histograms.plot_zeros(
                axes, {n: arrays[n][i] for n in with_zeros}, bins, looks
            )
        histograms.label_decades(grid[-1], bins)
        grid[-1].set_xlabel(xlabel)
        figure.supylabel(ylabel, fontsize=9)
        names = [sheet.entry(palette.label(n), looks[n]) for n in arrays]
        sheet.legend(figure, names)
