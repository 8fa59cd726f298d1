"""Figures of runs: curves, dots with error bars, paired runs and histograms.

A frame has one row for each point. Its columns are `activation` (categorical, in the
order of the legend), `batch_norm` (bool), `seed`, and those that the arguments name.
"""

import contextlib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from elu_zoo import files
from elu_zoo.pairs import palette

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

DPI = 150
_WIDTH = 8.0  # inches
_STYLE = Path(__file__).with_name("figures.mplstyle")
_LEGEND_COLUMNS = 5
# Style of a line at one value of an axis, for `Axes.axhline` and `Axes.axvline`.
REFERENCE: dict[str, Any] = {"color": "#555555", "linestyle": "--", "linewidth": 1}
_DASHED, _DOTTED = (0, (4, 1.5)), (0, (1, 1.3))
_MARKER_DISTANCE = 0.2  # as a fraction of the diagonal of the axes
_RIBBON_RUNS = 5  # fewer runs are drawn as thin lines
_STEP = 0.16  # distance of the dots at one place; places have a distance of 1
_BINS = 8  # of a histogram, in a decade


@contextlib.contextmanager
def figure(stem: Path, layout: Sequence[int], height: float) -> Iterator[list[list["Axes"]]]:
    """Yields the axes of an empty figure, and then writes `<stem>.png` and `<stem>.svg`.

    Args:
        stem: path of the files without suffix.
        layout: number of axes in each row; the axes of a row fill the width.
        height: in inches.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    columns = math.lcm(*layout)
    # "default" replaces the settings of the user's matplotlibrc.
    with style.context(["default", _STYLE]):
        sheet = Figure((_WIDTH, height), layout="constrained")
        grid = sheet.add_gridspec(len(layout), columns)
        yield [
            [
                sheet.add_subplot(grid[i, j * columns // count : (j + 1) * columns // count])
                for j in range(count)
            ]
            for i, count in enumerate(layout)
        ]
        for axes in sheet.axes:
            _label_log_axis(axes.xaxis)
            _label_log_axis(axes.yaxis)
        _add_legend(sheet)
        for suffix, metadata in (".png", {}), (".svg", {"Date": None, "Creator": None}):
            content = io.BytesIO()
            sheet.savefig(content, format=suffix[1:], dpi=DPI, metadata=metadata)
            files.write_bytes(stem.with_name(stem.name + suffix), content.getvalue())


def curves(
    axes: "Axes",
    frame: "pd.DataFrame",
    x: str,
    y: str,
    *,
    summary: Literal["mean", "quartiles"] = "mean",
    dotted: bool = False,
) -> None:
    """Draws the runs of each activation as a line with their spread.

    Five or more runs have a ribbon of one standard deviation around the mean, or
    between the quartiles around the median. Fewer runs are thin lines.

    Args:
        axes: with the scales that the figure has in the end.
        frame: a cell of `y` that is NaN was not measured.
        dotted: whether these are further lines of labelled activations, without spread.
    """
    looks, arms = palette.looks(frame["activation"]), _arms(frame)
    for i, ((batch_norm, name), own) in enumerate(arms):
        runs = own.pivot(index=x, columns="seed", values=y)
        runs = runs.dropna(how="all").dropna(how="all", axis=1)
        if runs.empty:
            continue
        style: dict[str, Any] = {
            **looks[name].style(hollow=dotted or batch_norm),
            "linestyle": _DOTTED if dotted else _DASHED if batch_norm else "-",
            # The first markers are apart, so that none hides another; a point has its own.
            "markevery": len(runs) < 2 or (_MARKER_DISTANCE * i / len(arms), _MARKER_DISTANCE),
        }
        middle = runs.mean(axis=1) if summary == "mean" else runs.median(axis=1)
        label = None if dotted else palette.label(name, batch_norm)
        axes.plot(middle.index, middle, label=label, **style)
        if dotted:
            continue
        if runs.shape[1] < _RIBBON_RUNS:
            thin = runs.interpolate(method="index", limit_area="inside")
            axes.plot(thin.index, thin, **style | {"linewidth": 0.8, "marker": ""})
            continue
        low, high = _ribbon(runs, summary)
        if axes.get_yscale() == "log":  # a standard deviation may reach below 0
            low = np.maximum(low, runs.min(axis=1))
        axes.fill_between(runs.index, low, high, color=looks[name].colour, alpha=0.2, linewidth=0)


def _ribbon(runs: "pd.DataFrame", summary: str) -> tuple["pd.Series", "pd.Series"]:
    if summary == "quartiles":
        return runs.quantile(0.25, axis=1), runs.quantile(0.75, axis=1)
    mean, deviation = runs.mean(axis=1), runs.std(axis=1).fillna(0)
    return mean - deviation, mean + deviation


def dots(axes: "Axes", frame: "pd.DataFrame", at: str) -> "pd.Series":
    """Draws dots at numbers, joined by lines, apart at the same place; returns their places.

    Args:
        frame: the columns `middle`, `low` and `high` are the dots and the ends of their
            error bars; low and high are NaN for no bar.
        at: column of the places, which are evenly spaced in the order of the rows.
    """
    looks, places = palette.looks(frame["activation"]), list(frame[at].unique())
    here = frame.groupby(at)["middle"]
    count = here.transform("size")
    offset = min(_STEP, 0.7 / count.max()) * (here.cumcount() - (count - 1) / 2)
    frame = frame.assign(place=frame[at].map(places.index).astype(float) + offset)
    for (batch_norm, name), own in _arms(frame):
        x, y = own["place"], own["middle"]
        style = looks[name].style(batch_norm) | {"label": palette.label(name, batch_norm)}
        axes.plot(x, y, linestyle=_DASHED if batch_norm else "-", **style)
        lengths = np.clip([y - own["low"], own["high"] - y], 0, None)
        axes.errorbar(x, y, lengths, fmt="none", ecolor=looks[name].colour, elinewidth=1)
    axes.set_xticks(range(len(places)), [f"{x:g}" for x in places])
    return frame["place"]


def paired(axes: "Axes", frame: "pd.DataFrame", y: str) -> None:
    """Draws a dot for each run, a thin line for each seed, and a short line for a mean.

    Activations are columns in the order of the categories. No dot hides another.
    """
    looks = palette.looks(frame["activation"])
    table = frame.pivot(index="seed", columns="activation", values=y)
    shifts = min(0.07, 0.8 / len(table)) * (np.arange(len(table)) - (len(table) - 1) / 2)
    for shift, (_, run) in zip(shifts, table.iterrows(), strict=True):
        x = np.arange(len(run)) + shift
        axes.plot(x[run.notna()], run.dropna(), color="#999999", linewidth=0.7, zorder=2)
    for i, (name, values) in enumerate(table.items()):
        axes.plot(i + shifts, values, linestyle="", zorder=3, **looks[name].style())
        if values.count() > 1:
            axes.hlines(values.mean(), i - 0.3, i + 0.3, color=looks[name].colour)
    axes.set_xticks(range(table.shape[1]), [palette.label(name) for name in table])
    axes.set_xlim(-0.5, table.shape[1] - 0.5)
    axes.grid(False, axis="x")


def histogram(axes: "Axes", values: Mapping[str, np.ndarray], decades: tuple[int, int]) -> None:
    """Draws histograms of values >= 0 on a logarithmic axis, and marks their medians.

    Args:
        decades: decimal logarithms of the ends of the axis. Values beyond an end are
            counted in the outermost bin, and zeros in bins of their own on the left.
    """
    low, high = decades
    zero, edges = 10.0 ** (low - 0.6), 10.0 ** (low - 0.6 + np.array([-0.15, 0.15]))
    edges = np.append(edges, np.logspace(low, high, (high - low) * _BINS + 1))

    def placed(x: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(x) > 0, np.clip(x, edges[2], edges[-1]), zero)

    axes.set_xscale("log")
    for i, (name, units) in enumerate(values.items()):
        look = palette.looks(values)[name]
        for style in {"alpha": 0.3}, {"histtype": "step", "linewidth": 1.3}:
            axes.hist(
                placed(units), edges, **{"histtype": "stepfilled", "color": look.colour} | style
            )
        axes.plot(
            placed(np.median(units)),
            0.14 * i,  # different heights, so that no marker hides another
            transform=axes.get_xaxis_transform(),
            linestyle="",
            clip_on=False,
            zorder=4,
            label=palette.label(name),
            **look.style(),
        )
    exponents = range(low, high + 1)
    names = ["0", *(f"$10^{{{exponent}}}$" for exponent in exponents)]
    axes.set_xticks([zero, *(10.0**exponent for exponent in exponents)], names)
    axes.set_xticks([], minor=True)
    axes.set_xlim(edges[0], edges[-1])


def _arms(frame: "pd.DataFrame") -> list[tuple[tuple[bool, str], "pd.DataFrame"]]:
    return list(frame.groupby(["batch_norm", "activation"], observed=True))


def _add_legend(sheet: "Figure") -> None:
    handles: dict[str, Any] = {}
    for axes in sheet.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        rows = math.ceil(len(handles) / _LEGEND_COLUMNS)
        columns = math.ceil(len(handles) / rows)
        sheet.legend(handles.values(), handles, loc="outside lower center", ncols=columns)


def _label_log_axis(axis: "Axis") -> None:
    """Labels a logarithmic axis of at most three decades with plain numbers."""
    from matplotlib import ticker

    low, high = sorted(axis.get_view_interval())
    if axis.get_scale() != "log" or high > 1000 * low:
        return
    if high > 6 * low:
        axis.set_major_locator(ticker.LogLocator(subs=(1, 3) if high > 100 * low else (1, 2, 5)))
    else:
        axis.set_major_locator(ticker.MaxNLocator(5))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(ticker.NullLocator())
