"""Figures of the reproduction: `<stem>.png` for a README, `<stem>.svg` for a paper.

Figures are 8 inches wide. Colours and markers come from `palette`. Each function takes
the path without suffix and the height in inches, and raises UsageError if matplotlib is
not installed, and OSError if the folder cannot be written.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elu_zoo.paper.plots import dots, histograms, paired_dots, palette, sheet
from elu_zoo.paper.plots.dots import DotPanel
from elu_zoo.paper.plots.paired_dots import PairPanel
from elu_zoo.paper.plots.panels import Panel, Series, curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
_ROW_HEIGHT = 2.4  # inches
_MARKER_DISTANCE = 0.2  # of the axes' diagonal
_DASHED, _DOTTED = (0, (4, 1.5)), (0, (1, 1.3))
_GREY = "#555555"


def draw(
    rows: Sequence[Sequence[Panel | None]], stem: Path, *, height: float | None = None
) -> None:
    """Draws panels of curves in rows of equal length, with one legend below.

    Args:
        rows: None leaves a place empty.
        height: by default by the number of rows.
    """
    panels = list(itertools.chain(*rows))
    looks = palette.looks(s.activation for p in panels if p for s in p.series)
    height = height or _ROW_HEIGHT * len(rows) + sheet.LEGEND_HEIGHT
    with sheet.sheet(stem, height) as figure:
        grid = figure.subplots(len(rows), len(rows[0]), squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=True):
            if panel is None:
                axes.set_visible(False)
            else:
                _plot(axes, panel, looks)
        sheet.legend(figure)


def _plot(axes: "Axes", panel: Panel, looks: Mapping[str, palette.Look]) -> None:
    for i, series in enumerate(panel.series):
        _plot_series(axes, panel, series, looks[series.activation], i)
    if any(series.dotted for series in panel.series):
        axes.plot([], [], color=_GREY, linestyle=_DOTTED, label=panel.dotted)
    if panel.chance is not None:
        axes.axhline(
            panel.chance, color=_GREY, linestyle="--", linewidth=1, label="chance"
        )
    if panel.logx:
        axes.set_xscale("log")
    if panel.logy:
        axes.set_yscale("log")
    axes.set_xlim(panel.xlim)
    axes.set_ylim(panel.ylim)
    if not panel.logx and all((np.mod(s.x, 1) == 0).all() for s in panel.series):
        axes.xaxis.get_major_locator().set_params(integer=True)
    sheet.finish(axes, panel.title, panel.xlabel, panel.ylabel)


def _plot_series(
    axes: "Axes", panel: Panel, series: Series, look: palette.Look, place: int
) -> None:
    found = curve(series, logy=panel.logy, chance=panel.chance)
    label = series.label or palette.label(series.activation, series.batch_norm)
    emphasised = series.activation == "elu" and not series.dotted
    # Series have their markers at different places, so that none hides another.
    offset = _MARKER_DISTANCE * place / len(panel.series)
    style = {
        **look.style(hollow=series.dotted or series.batch_norm),
        "linestyle": _DASHED if series.batch_norm else "-",
        "markevery": (offset, _MARKER_DISTANCE),
        "zorder": 3 if emphasised else 2.5,
    }
    if series.dotted:
        style["linestyle"] = _DOTTED
    if found.middle is not None:
        axes.plot(
            found.x,
            found.middle,
            linewidth=2.2 if emphasised else 1.5,
            label=None if series.dotted else label,
            **style,
        )
        style["marker"] = ""
    for i, run in enumerate(found.thin):
        known = ~np.isnan(run)
        labelled = i == 0 and found.middle is None
        axes.plot(
            found.x[known],
            run[known],
            linewidth=0.8,
            label=label if labelled else None,
            **style,
        )
    if not len(found.thin):
        axes.fill_between(
            found.x, found.low, found.high, color=look.colour, alpha=0.2, linewidth=0
        )


def functions(of: Mapping[str, Arrays], stem: Path) -> None:
    """Draws activation functions beside their derivatives, as the paper's figure 1.

    Args:
        of: `(x, y, dy)` of each activation, each `(points,)`.
    """
    values = [Series(name, x, [y]) for name, (x, y, _) in of.items()]
    slopes = [Series(name, x, [dy]) for name, (x, _, dy) in of.items()]
    panels = [
        Panel("a  activation", "x", "f(x)", values),
        Panel("b  derivative", "x", "f\N{PRIME}(x)", slopes),
    ]
    draw([panels], stem, height=3.2)


def bars(
    panels: Sequence[DotPanel],
    stem: Path,
    *,
    height: float | None = None,
    columns: int | None = None,
) -> None:
    """Draws dots with error bars, panels in rows, with one legend below.

    Args:
        panels: one or more.
        height: by default by the number of names and rows.
        columns: panels in a row; by default all of them.
    """
    looks = palette.looks(d.activation for panel in panels for d in panel.dots)
    columns = columns or len(panels)
    rows = math.ceil(len(panels) / columns)
    row_height = max(dots.height(panel) for panel in panels)
    height = height or rows * row_height + sheet.LEGEND_HEIGHT
    with sheet.sheet(stem, height) as figure:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for i, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
            dots.plot(axes, panel, looks)
            if i % columns and panel.names and panel.names == panels[0].names:
                axes.tick_params(labelleft=False)
        sheet.legend(figure)


def paired(panels: Sequence[PairPanel], stem: Path, *, height: float = 3.2) -> None:
    """Draws runs as dots, runs of one seed joined, panels in a row.

    Args:
        panels: one or more.
    """
    looks = palette.looks(name for panel in panels for name in panel.runs)
    widths = [len(panel.runs) for panel in panels]
    with sheet.sheet(stem, height) as figure:
        grid = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)
        for axes, panel in zip(grid.flat, panels, strict=True):
            paired_dots.plot(axes, panel, looks)


def distributions(
    values: Mapping[str, Sequence[np.ndarray]],
    stem: Path,
    *,
    xlabel: str,
    rows: Sequence[str] | None = None,
    decades: tuple[int, int] | None = None,
) -> None:
    """Draws a histogram of each layer and activation, as the paper's figure 7.

    The x axis is logarithmic. Zeros, of units that never changed, have a bin of their
    own at the left. A marker shows the median of each histogram.

    Args:
        values: for each activation an array `(units,)` >= 0 of each layer.
        xlabel: what the values are.
        rows: titles of the layers; by default "layer 1", ...
        decades: decimal logarithms of the axis' ends; values beyond are counted in
            the outermost bins. By default all values are inside.
    """
    count = len(next(iter(values.values())))
    titles = rows or [f"layer {i + 1}" for i in range(count)]
    looks = palette.looks(values)
    axis = histograms.axis([a for layers in values.values() for a in layers], decades)
    with sheet.sheet(stem, 1.1 * count + 0.5 + sheet.LEGEND_HEIGHT) as figure:
        grid = figure.subplots(count, 1, sharex=True, sharey=True, squeeze=False)
        for i, (axes, title) in enumerate(zip(grid.flat, titles, strict=True)):
            layer = {name: layers[i] for name, layers in values.items()}
            histograms.plot(axes, layer, axis, looks)
            axes.set_title(title)
        grid[-1, 0].set_xlabel(xlabel)
        figure.supylabel("units")
        sheet.legend(figure)
