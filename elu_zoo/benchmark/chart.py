"""The ratios of a benchmark as bars."""

import importlib.util
import io
from collections.abc import Sequence
from pathlib import Path

from elu_zoo import errors, files
from elu_zoo.benchmark.report import Row

_OURS, _OTHERS = "#0072b2", "#b0b0b0"  # told apart in grey, too
_KINDS = ".png", ".svg", ".pdf"
_DRAWN = ("op", "step", "unit", "inference")


def check(parts: Sequence[str], path: Path) -> None:
    """Checks that a chart can be drawn.

    Raises:
        UsageError: matplotlib is not installed, or the file is of another kind, or
            none of the parts is drawn.
        OSError: the folder cannot be written.
    """
    files.check_writable(path.resolve().parent)
    if importlib.util.find_spec("matplotlib") is None:
        raise errors.UsageError(
            'A chart needs matplotlib: pip install "elu-zoo[paper]"'
        )
    if path.suffix not in _KINDS:
        raise errors.UsageError(
            f"A chart is a file {', '.join(_KINDS)}. Received: {path}."
        )
    if not set(parts) & set(_DRAWN):
        raise errors.UsageError(
            f"A chart shows the parts {', '.join(_DRAWN)}. Received: "
            f"{', '.join(parts)}."
        )


def draw(found: Sequence[Row], path: Path) -> None:
    """Draws a panel for each case: how long every form takes, ours or the baseline 1.

    Args:
        found: rows of any parts; those in milliseconds are drawn.
        path: see `check`.
    """
    from matplotlib.figure import Figure

    cases = {}
    for row in found:
        if row.part in _DRAWN and row.unit == "ms":
            cases.setdefault((row.part, row.case), []).append(row)
    heights = [len(rows) + 1.5 for rows in cases.values()]
    figure = Figure((8, 0.3 * sum(heights)), layout="constrained")
    panels = figure.subplots(len(cases), height_ratios=heights, squeeze=False)[:, 0]
    for axes, ((part, case), rows) in zip(panels, cases.items(), strict=True):
        rows = sorted(rows, key=lambda row: -row.ratio)
        ratios = [row.ratio for row in rows]
        errors_ = [
            [r.ratio - r.ratio_low for r in rows],
            [r.ratio_high - r.ratio for r in rows],
        ]
        colours = [_OURS if _is_ours(row) else _OTHERS for row in rows]
        bars = axes.barh(
            [row.form for row in rows], ratios, xerr=errors_, color=colours
        )
        labels = [f"{row.ratio:.2f}   {row.value:.3g} ms" for row in rows]
        axes.bar_label(bars, labels, padding=6, fontsize=8)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_xlim(0, 1.3 * max(row.ratio_high for row in rows))
        axes.set_title(
            f"{part}: {case}; 1 is {rows[0].baseline}", loc="left", fontsize=9
        )
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=150, format=path.suffix[1:])
    files.write_bytes(path, drawn.getvalue())


def _is_ours(row: Row) -> bool:
    return row.form.startswith(("ours", "elu", "SavedModel"))
