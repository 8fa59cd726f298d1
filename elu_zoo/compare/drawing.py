"""Figures of a comparison: errors by activation, learning curves, error by rate."""

import math
import statistics
from pathlib import Path

import pandas as pd

from elu_zoo.compare import tables
from elu_zoo.compare.result import ComparisonResult, metric, tried
from elu_zoo.pairs import palette, plots

# Ends of the axis of errors, as a factor on the smallest error, and on the largest of
# the errors at best rates.
_LOWEST, _HIGHEST = 0.9, 1.5


def draw(result: ComparisonResult, output: Path) -> None:
    """Draws `errors`, `curves` and, after tuning, `rates`, as .png and .svg.

    Activations are sorted by rank. Only `rates` shows that runs diverged, and a figure
    without any run is not drawn. Those of an earlier comparison are removed.
    """
    for name in "errors", "curves", "rates":
        for suffix in ".png", ".svg":
            (output / f"{name}{suffix}").unlink(missing_ok=True)
    _errors(result, output / "errors")
    _curves(result, output / "curves")
    _rates(result, output / "rates")


def _errors(result: ComparisonResult, stem: Path) -> None:
    tested = [each for each in tables.tested(result, tuned=True) if each.errors]
    if not tested:
        return
    rows = [(each.activation, *run) for each in tested for run in each.errors.items()]
    runs = pd.DataFrame(rows, columns=["activation", "seed", "error"])
    runs["activation"] = pd.Categorical(runs["activation"], [each.activation for each in tested])
    with plots.figure(stem, [1], 3.2) as [[axes]]:
        plots.paired(axes, runs, "error")
        axes.set(ylabel=f"{result.comparison.split} error, {tables.unit(result)}")


def _curves(result: ComparisonResult, stem: Path) -> None:
    name = f"validation_{metric(result.comparison.config)}"
    titles = {"train_loss": "training loss", name: f"validation error, {tables.unit(result)}"}
    rows = [
        {"activation": activation, "seed": seed, **row}
        for activation in result.comparison.activations
        for seed, run in result.paired(activation, tuned=True).items()
        for row in run.curve
    ]
    frame = _frame(result, rows)
    titles = {column: title for column, title in titles.items() if column in frame}
    if not titles:
        return
    with plots.figure(stem, [len(titles)], 3.6) as [row]:
        for axes, (column, title) in zip(row, titles.items(), strict=True):
            scale = "log" if frame[column].min() > 0 else "linear"
            axes.set(title=title, xlabel="epoch", ylabel=title, yscale=scale)
            plots.curves(axes, frame, "epoch", column)


def _frame(result: ComparisonResult, rows: list[dict]) -> pd.DataFrame:
    """Returns rows with the activations in the order of the comparison."""
    frame = pd.DataFrame(rows).assign(batch_norm=False)
    if rows:
        names = result.comparison.activations
        frame["activation"] = pd.Categorical(frame["activation"], names)
    return frame


def _rates(result: ComparisonResult, stem: Path) -> None:
    rows: list[dict] = []
    for name in result.comparison.activations:
        for factor, errors in sorted(tried(result.runs, name).items()):
            finite = [error for error in errors if not math.isnan(error)] or [math.nan]
            ends = {"low": min(finite), "high": max(finite), "middle": statistics.mean(finite)}
            diverged = any(map(math.isnan, errors))
            rows.append({"activation": name, "factor": factor, "diverged": diverged, **ends})
    if all(math.isnan(row["middle"]) for row in rows):  # also without tuning
        return
    frame = _frame(result, rows).sort_values("factor", kind="stable")
    best = frame.groupby("activation", observed=True)["middle"].min()
    with plots.figure(stem, [1], 4.4) as [[axes]]:
        places = plots.dots(axes, frame, "factor")
        looks = palette.looks(frame["activation"])
        for place, name in zip(places, frame["activation"].where(frame["diverged"]), strict=True):
            if name in looks:
                style: dict = {"marker": "x", "color": looks[name].colour, "clip_on": False}
                axes.plot(place, 1, transform=axes.get_xaxis_transform(), **style)
        # A rate that is too high may have an error many times the others.
        axes.set_ylim(_LOWEST * frame["low"].min(), _HIGHEST * best.max())
        axes.set(
            title="tuning: mean, smallest and largest error of each factor",
            xlabel="factor on the learning rate",
            ylabel=f"validation error, {tables.unit(result)}",
        )
