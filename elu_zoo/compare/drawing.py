"""Figures of a comparison: errors by activation, learning curves, error by rate."""

import math
import statistics
from collections.abc import Mapping
from pathlib import Path

from elu_zoo.compare import tables
from elu_zoo.compare.result import ComparisonResult, RunResult, metric, tried
from elu_zoo.pairs.plots import figures
from elu_zoo.pairs.plots.dots import DotPanel, Dots
from elu_zoo.pairs.plots.paired_dots import PairPanel
from elu_zoo.pairs.plots.panels import Panel, Series

# Ends of the axis of errors, as a factor on the smallest error, and on the largest of
# the errors at best rates.
_LOWEST, _HIGHEST = 0.9, 1.5


def draw(result: ComparisonResult, output: Path) -> None:
    """Draws `errors`, `curves`, `errors_at_config_rate` and `rates`, as .png and .svg.

    The last two are drawn only after tuning. Activations are sorted by their mean
    error. Runs that diverged are left out, and a figure without any run is not drawn.
    """
    tuned = result.comparison.tune > 1
    _errors(result, output / "errors", tuned=True)
    _curves(result, output / "curves")
    if tuned:
        _errors(result, output / "errors_at_config_rate", tuned=False)
        _rates(result, output / "rates")


def _errors(result: ComparisonResult, stem: Path, *, tuned: bool) -> None:
    tested = [each for each in tables.tested(result, tuned=tuned) if each.errors]
    tested.sort(key=lambda each: statistics.mean(each.errors.values()))
    runs = {each.activation: each.errors for each in tested}
    best = tuned and result.comparison.tune > 1
    title = "at its best learning rate" if best else "at the config's learning rate"
    value = f"{result.comparison.split} error, {tables.unit(result)}"
    if runs:
        figures.paired([PairPanel(title, value, runs)], stem)


def _curves(result: ComparisonResult, stem: Path) -> None:
    name = f"validation_{metric(result.comparison.config)}"
    titles = {
        "train_loss": "training loss",
        name: f"validation error, {tables.unit(result)}",
    }
    panels = []
    for column, title in titles.items():
        series = []
        for activation in result.comparison.activations:
            runs = result.paired(activation, tuned=True)
            if curve := _series(activation, runs, column):
                series.append(curve)
        if series:
            low = min(value for each in series for run in each.runs for value in run)
            panels.append(Panel(title, "epoch", title, series, logy=low > 0))
    if panels:
        figures.draw([panels], stem, height=3.6)


def _series(activation: str, runs: Mapping[int, RunResult], column: str) -> Series | None:
    curves = [
        {row["epoch"]: row[column] for row in run.curve if column in row} for run in runs.values()
    ]
    curves = [curve for curve in curves if curve]
    epochs = sorted({epoch for curve in curves for epoch in curve})
    rows = [[curve.get(epoch, math.nan) for epoch in epochs] for curve in curves]
    return Series(activation, epochs, rows) if rows else None


def _rates(result: ComparisonResult, stem: Path) -> None:
    dots = []
    for name in result.comparison.activations:
        finite = {
            factor: [error for error in errors if not math.isnan(error)]
            for factor, errors in sorted(tried(result.runs, name).items())
        }
        finite = {factor: errors for factor, errors in finite.items() if errors}
        if finite:
            low, middle, high = (
                [function(errors) for errors in finite.values()]
                for function in (min, statistics.mean, max)
            )
            dots.append(Dots(name, list(finite), middle, low, high))
    if dots:
        title = "tuning: mean, smallest and largest error of each factor"
        value = f"validation error, {tables.unit(result)}"
        # A rate that is too high may have an error many times the others.
        ylim = (
            _LOWEST * min(min(each.low) for each in dots),
            _HIGHEST * max(min(each.middle) for each in dots),
        )
        panel = DotPanel(title, "factor on the learning rate", value, dots, logx=True, ylim=ylim)
        figures.bars([panel], stem, height=4.4)
