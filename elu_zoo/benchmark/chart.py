"""Bar chart of the benchmark's times."""

import importlib.util
import io
from collections.abc import Sequence
from pathlib import Path

from elu_zoo import errors, files
from elu_zoo.benchmark.report import Row

_OURS, _OTHERS = "#0072b2", "#b0b0b0"  # differ in a grey print, too
_PARTS = ("op", "step", "unit", "inference")


def check(parts: Sequence[str], path: Path) -> None:
    """Checks that a chart can be drawn, before the benchmark runs."""
    files.check_writable(path.resolve().parent)
    if importlib.util.find_spec("matplotlib") is None:
        raise errors.UsageError('A chart needs matplotlib. Run: pip install "elu-zoo[paper]"')
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise errors.UsageError(f"--chart must end in .png, .svg or .pdf. Received: {path}.")
    if not set(parts) & set(_PARTS):
        raise errors.UsageError(
            f"A chart needs one of the parts {', '.join(_PARTS)}. Received: {', '.join(parts)}."
        )


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draws the time of each form relative to the baseline, in a panel per case."""
    from matplotlib.figure import Figure

    cases = {}
    for row in rows:
        if row.part in _PARTS and row.unit == "ms":
            cases.setdefault((row.part, row.case), []).append(row)
    if not cases:
        return
    heights = [len(forms) + 2 for forms in cases.values()]
    figure = Figure((9, 0.3 * sum(heights)), layout="constrained")
    panels = figure.subplots(len(cases), height_ratios=heights, squeeze=False)[:, 0]
    for axes, ((part, case), forms) in zip(panels, cases.items(), strict=True):
        for row in sorted(forms, key=lambda row: -row.ratio):
            is_ours = row.form.startswith(("ours", "elu", "ELU(", "SavedModel"))
            interval = [[row.ratio - row.ratio_low], [row.ratio_high - row.ratio]]
            color = _OURS if is_ours else _OTHERS
            bar = axes.barh(row.form, row.ratio, xerr=interval, color=color)
            axes.bar_label(bar, [f"{row.ratio:.2f}   {row.value:.3g} ms"], padding=6)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_xlim(0, 1.3 * max(row.ratio_high for row in forms))
        axes.set_title(f"{part}: {case}; 1 is {forms[0].baseline}", loc="left")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=150, format=path.suffix[1:])
    files.write_bytes(path, buffer.getvalue())
