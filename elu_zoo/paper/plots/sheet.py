"""A figure's sheet: its size and style, its legend below, its two files."""

import contextlib
import importlib.util
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elu_zoo import errors, files
from elu_zoo.paper.plots import palette

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDTH = 8.0  # inches; a README shows it at about 800 pixels
_DPI = 200, 150, 100, 50  # the first that makes a small file
_LARGEST = 200_000  # bytes of a PNG
_STYLE = {
    "svg.hashsalt": "elu_zoo",  # the same names of parts in every drawing
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "lines.markeredgewidth": 0.8,
}
PLAIN, DASHED, DOTTED = "-", (0, (4, 1.5)), (0, (1, 1.3))


def check(stem: Path) -> None:
    """Checks that figures can be drawn, before what they show is computed.

    Raises:
        UsageError: matplotlib is not installed.
        OSError: the folder cannot be written.
    """
    files.check_writable(stem.resolve().parent)
    if importlib.util.find_spec("matplotlib") is None:
        raise errors.UsageError(
            'A figure needs matplotlib: pip install "elu-zoo[paper]"'
        )


@contextlib.contextmanager
def sheet(stem: Path, height: float) -> Iterator["Figure"]:
    """Yields an empty figure, which becomes `<stem>.png` and `<stem>.svg`.

    Nothing is written when the block raises.

    Args:
        stem: the path without suffix.
        height: inches, of a figure 8 inches wide.

    Raises:
        UsageError: matplotlib is not installed.
        OSError: the folder cannot be written.
    """
    check(stem)
    import matplotlib
    from matplotlib import style
    from matplotlib.figure import Figure

    # Not the style of a user's own matplotlibrc.
    with style.context("default"), matplotlib.rc_context(_STYLE):
        figure = Figure((WIDTH, height), layout="constrained")
        yield figure
        contents = {".png": _png(figure), ".svg": _svg(figure)}
    for suffix, content in contents.items():
        files.write_bytes(stem.with_name(stem.name + suffix), content)


def _png(figure: "Figure") -> bytes:
    from PIL import Image

    for dpi in _DPI:
        drawn, small = io.BytesIO(), io.BytesIO()
        figure.savefig(drawn, format="png", dpi=dpi)
        # A third of the size: ribbons that overlap have many colours, hardly apart.
        picture = Image.open(drawn).convert("RGB")
        picture = picture.quantize(256, dither=Image.Dither.NONE)
        picture.save(small, "PNG", optimize=True, dpi=(dpi, dpi))
        if small.tell() < _LARGEST:
            break
    return small.getvalue()


def _svg(figure: "Figure") -> bytes:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return drawn.getvalue()


def entry(
    label: str, look: palette.Look, *, line: object = PLAIN, hollow: bool = False
) -> "Artist":
    """Returns the legend's entry of an activation; `line` is "" for dots alone."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, linestyle=line, **marked(look, hollow))


def marked(look: palette.Look, hollow: bool) -> dict[str, str | float]:
    """Returns the arguments of a line's colour and markers."""
    return {
        "color": look.colour,
        "marker": look.marker,
        # An edge tells a marker from its own line.
        "markeredgecolor": look.colour if hollow else "white",
        "markerfacecolor": "white" if hollow else look.colour,
        "markersize": 4.8 if hollow else 5.6,  # as large, with its edge
    }


def rule(label: str, line: object) -> "Artist":
    """Returns the legend's entry of a line that belongs to no activation."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, color="#555555", linestyle=line)


def legend(figure: "Figure", entries: Sequence["Artist"]) -> None:
    """Puts one legend below all panels, in as many rows as it needs."""
    longest = max(len(each.get_label()) for each in entries)
    columns = max(1, int((WIDTH - 0.4) / (0.6 + 0.075 * longest)))
    rows = math.ceil(len(entries) / columns)
    figure.legend(
        handles=entries,
        loc="outside lower center",
        ncols=math.ceil(len(entries) / rows),
        frameon=False,
        handlelength=2.6,
    )


def finish(axes: "Axes", title: str, xlabel: str, ylabel: str) -> None:
    """Writes the labels and the numbers of a panel's axes, when all else is drawn."""
    axes.set_title(title)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    for axis in axes.xaxis, axes.yaxis:
        _number(axis)


def _number(axis: "Axis") -> None:
    from matplotlib import ticker

    if isinstance(axis.get_major_locator(), ticker.FixedLocator):
        return  # they are names, or written already
    low, high = sorted(axis.get_view_interval())
    if axis.get_scale() == "log":
        decades = math.log10(high / low)
        if decades > 3:
            return  # powers of ten, as matplotlib writes them
        steps = ticker.LogLocator(subs=(1, 2, 5))
        axis.set_major_locator(steps if decades > 1 else ticker.MaxNLocator(5))
        axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(lambda value, _: number(value))


def number(value: float) -> str:
    """Returns a number as an axis has room for: "0.05", "100k"."""
    text = f"{value / 1000:g}k" if abs(value) >= 10_000 else f"{value:g}"
    return text.replace("-", "\N{MINUS SIGN}")
