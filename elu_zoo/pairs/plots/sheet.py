"""Size, style, legend and files of a figure."""

import contextlib
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from elu_zoo import errors, files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDTH = 8.0  # inches
DPI = 150
LEGEND_HEIGHT = 0.4  # inches
_STYLE = Path(__file__).with_name("figures.mplstyle")
_LEGEND_COLUMNS = 5


@contextlib.contextmanager
def sheet(stem: Path, height: float) -> Iterator["Figure"]:
    """Yields an empty figure, and then writes the figure to two files.

    The files are `<stem>.png` and `<stem>.svg`. They are not written if the block
    raises an exception. Figures of equal data have equal bytes.

    Args:
        stem: path of the files without suffix.
        height: height of the figure in inches.
    """
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise errors.UsageError(
            'Figures need matplotlib. Run: pip install "elu-zoo[paper]"'
        ) from error
    # "default" replaces the settings of the user's matplotlibrc.
    with style.context(["default", _STYLE]):
        figure = Figure((WIDTH, height), layout="constrained")
        yield figure
        for suffix, metadata in (".png", {}), (".svg", {"Date": None, "Creator": None}):
            content = io.BytesIO()
            figure.savefig(content, format=suffix[1:], dpi=DPI, metadata=metadata)
            files.write_bytes(stem.with_name(stem.name + suffix), content.getvalue())


def legend(figure: "Figure") -> None:
    """Adds a legend below all panels, with each label once."""
    from matplotlib.container import ErrorbarContainer

    handles = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    # Activations come before the lines of references.
    labels = sorted(handles, key=lambda label: not isinstance(handles[label], ErrorbarContainer))
    rows = math.ceil(len(handles) / _LEGEND_COLUMNS)
    figure.legend(
        [handles[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=math.ceil(len(handles) / rows),
    )


def finish(axes: "Axes", title: str, xlabel: str, ylabel: str) -> None:
    """Sets the title, labels and ticks of a panel whose curves or dots are drawn."""
    axes.set_title(title)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    for axis in axes.xaxis, axes.yaxis:
        if axis.get_scale() == "log":
            _set_log_ticks(axis)


def _set_log_ticks(axis: "Axis") -> None:
    """Labels a logarithmic axis of at most three decades with plain numbers."""
    from matplotlib import ticker

    low, high = sorted(axis.get_view_interval())
    if high > 1000 * low:
        return
    if high > 100 * low:
        axis.set_major_locator(ticker.LogLocator(subs=(1, 3)))
    elif high > 6 * low:
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    else:
        axis.set_major_locator(ticker.MaxNLocator(5))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(ticker.NullLocator())
