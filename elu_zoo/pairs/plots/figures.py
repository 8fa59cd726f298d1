"""Figures as files: `<stem>.png` for a README, and `<stem>.svg` for a paper.

Figures are 8 inches wide. Colours and markers come from `palette`. Each function gets
the path of the files without suffix, and raises UsageError if matplotlib is not
installed, or OSError if the folder cannot be written.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elu_zoo.pairs.plots import dots, histograms, paired_dots, palette, sheet
from elu_zoo.pairs.plots.dots import DotPanel
from elu_zoo.pairs.plots.histograms import Histograms
from elu_zoo.pairs.plots.paired_dots import PairPanel
from elu_zoo.pairs.plots.panels import Panel, Series, curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
_ROW_HEIGHT = 2.4  # inches
_MARKER_DISTANCE = 0.2  # as a fraction of the diagonal of the axes
_DASHED, _DOTTED = (0, (4, 1.5)), (0, (1, 1.3))
_GREY = "#555555"


def draw(
    rows: Sequence[Sequence[Panel]],
    stem: Path,
    *,
    height: float | None = None,
    share_y: bool = False,
    note: str = "",
) -> None:
    """Draws panels of curves in rows, with one legend below.

    Args:
        rows: each with at least one panel. The panels of a row fill the width.
        stem: path of the files without suffix.
        height: in inches; by default proportional to the number of rows.
        share_y: whether all panels have the same y axis.
        note: text above all panels.
    """
    looks = palette.looks(s.activation for row in rows for p in row for s in p.series)
    height = height or _ROW_HEIGHT * len(rows) + sheet.LEGEND_HEIGHT
    columns = math.lcm(*map(len, rows))
    with sheet.sheet(stem, height) as figure:
        grid = figure.add_gridspec(len(rows), columns)
        first = None
        for i, row in enumerate(rows):
            width = columns // len(row)
            for j, panel in enumerate(row):
                cell = grid[i, j * width : (j + 1) * width]
                axes = figure.add_subplot(cell, sharey=first if share_y else None)
                first = first or axes
                _plot(axes, panel, looks)
                if share_y and j:
                    axes.tick_params(labelleft=False)
                    axes.set_ylabel("")
        if note:
            figure.suptitle(note)
        sheet.legend(figure)


def _plot(axes: "Axes", panel: Panel, looks: Mapping[str, palette.Look]) -> None:
    for i, series in enumerate(panel.series):
        _plot_series(axes, panel, series, looks[series.activation], i)
    if any(series.dotted for series in panel.series):
        axes.plot([], [], color=_GREY, linestyle=_DOTTED, label="validation")
    if panel.chance is not None:
        axes.axhline(panel.chance, color=_GREY, linestyle="--", linewidth=1, label="chance")
    if panel.logx:
        axes.set_xscale("log")
    if panel.logy:
        axes.set_yscale("log")
    # Limits of None would freeze an axis that the panels share.
    if panel.xlim is not None:
        axes.set_xlim(panel.xlim)
    if panel.ylim is not None:
        axes.set_ylim(panel.ylim)
    if not panel.logx and all((np.mod(s.x, 1) == 0).all() for s in panel.series):
        axes.xaxis.get_major_locator().set_params(integer=True)
    sheet.finish(axes, panel.title, panel.xlabel, panel.ylabel)


def _plot_series(
    axes: "Axes", panel: Panel, series: Series, look: palette.Look, index: int
) -> None:
    line = curve(series, logy=panel.logy, chance=panel.chance)
    label = palette.label(series.activation, series.batch_norm, series.ours)
    emphasised = series.activation == "elu" and not series.dotted
    # The first markers of the series are apart, so that no marker hides another.
    offset = _MARKER_DISTANCE * index / len(panel.series)
    style = {
        **look.style(hollow=series.dotted or series.batch_norm),
        "linestyle": _DASHED if series.batch_norm else "-",
        "markevery": (offset, _MARKER_DISTANCE),
        "zorder": 3 if emphasised else 2.5,
    }
    if series.dotted:
        style["linestyle"] = _DOTTED
    if line.middle is not None:
        axes.plot(
            line.x,
            line.middle,
            linewidth=2.2 if emphasised else 1.5,
            label=None if series.dotted else label,
            **style,
        )
        style["marker"] = ""
    for i, run in enumerate(line.thin):
        measured = ~np.isnan(run)
        labelled = i == 0 and line.middle is None
        axes.plot(
            line.x[measured],
            run[measured],
            linewidth=0.8,
            label=label if labelled else None,
            **style,
        )
    if not len(line.thin):
        axes.fill_between(line.x, line.low, line.high, color=look.colour, alpha=0.2, linewidth=0)


def functions(of: Mapping[str, Arrays], stem: Path) -> None:
    """Draws activation functions beside their derivatives, as the paper's figure 1.

    Args:
        of: three arrays by activation, `(x, y, dy)`, each of shape `(points,)`.
        stem: path of the files without suffix.
    """
    values = [Series(name, x, [y]) for name, (x, y, _) in of.items()]
    slopes = [Series(name, x, [dy]) for name, (x, _, dy) in of.items()]
    panels = [
        Panel("a  activation function", "x", "f(x)", values),
        Panel("b  derivative", "x", "f\N{PRIME}(x)", slopes),
    ]
    draw([panels], stem, height=3.2)


def bars(panels: Sequence[DotPanel], stem: Path, *, height: float | None = None) -> None:
    """Draws dots with error bars, panels in one row, with one legend below.

    Args:
        panels: at least one.
        stem: path of the files without suffix.
        height: in inches; by default proportional to the number of names.
    """
    looks = palette.looks(d.activation for panel in panels for d in panel.dots)
    height = height or max(map(dots.height, panels)) + sheet.LEGEND_HEIGHT
    with sheet.sheet(stem, height) as figure:
        grid = figure.subplots(1, len(panels), squeeze=False)
        for i, (axes, panel) in enumerate(zip(grid.flat, panels, strict=True)):
            dots.plot(axes, panel, looks)
            if i and panel.names and panel.names == panels[0].names:
                axes.tick_params(labelleft=False)
        sheet.legend(figure)


def paired(panels: Sequence[PairPanel], stem: Path, *, height: float = 3.2) -> None:
    """Draws runs as dots, joins the runs of each seed, and puts all panels in one row.

    Args:
        panels: at least one.
        stem: path of the files without suffix.
        height: in inches.
    """
    looks = palette.looks(name for panel in panels for name in panel.runs)
    widths = [len(panel.runs) for panel in panels]
    with sheet.sheet(stem, height) as figure:
        grid = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)
        for axes, panel in zip(grid.flat, panels, strict=True):
            paired_dots.plot(axes, panel, looks)


def distributions(columns: Sequence[Histograms], stem: Path) -> None:
    """Draws histograms in columns, with a row for each layer, as the paper's figure 7.

    Args:
        columns: at least one; all have the same layers.
        stem: path of the files without suffix.
    """
    looks = palette.looks(name for column in columns for name in column.values)
    layers = len(next(iter(columns[0].values.values())))
    with sheet.sheet(stem, 1.1 * layers + 0.5 + sheet.LEGEND_HEIGHT) as figure:
        grid = figure.subplots(layers, len(columns), sharex="col", sharey=True, squeeze=False)
        for column, many in zip(columns, grid.T, strict=True):
            histograms.plot(many, column, looks)
        figure.supylabel("number of units")
        sheet.legend(figure)
