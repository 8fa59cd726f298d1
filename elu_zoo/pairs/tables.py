"""Markdown tables of results, and numbers as text."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from elu_zoo.pairs import grouping, statistics


def markdown(titles: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Returns a Markdown table of column titles and lines of cells."""
    head = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(map(str, x))} |" for x in lines)])


def mean(values: Iterable[float]) -> str:
    """Returns `mean ± standard deviation` with three digits, "" for no values."""
    values = list(values)
    if not values:
        return ""
    text = f"{np.mean(values):.3g}"
    return text if len(values) == 1 else f"{text} ± {np.std(values, ddof=1):.2g}"


def means(values: pd.DataFrame) -> str:
    """Returns a table of means over runs: `ends` of titled columns, a line for each arm."""
    lines = []
    for (batch_norm, _, name), runs in values.groupby(level=[*grouping.ARM], observed=True):
        cells = [mean(runs[title].dropna()) for title in runs]
        lines.append([name + " + batch norm" * batch_norm, len(runs), *cells])
    return markdown(["activation", "runs", *values.columns], lines)


def interval(effect: float, low: float, high: float, *, signed: bool = True) -> str:
    """Returns an effect with the ends of its interval, "" for NaN.

    Args:
        signed: whether numbers above 0 have a plus sign, as differences have.
    """
    if math.isnan(effect):
        return ""
    texts = [f"{x:+.3g}" if signed else f"{x:.3g}" for x in (effect, low, high)]
    return texts[0] if math.isnan(low) else f"{texts[0]} ({texts[1]} to {texts[2]})"


def p_value(p: float) -> str:
    """Returns p with three decimals, "" for NaN."""
    if math.isnan(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def mean_difference(first: Sequence[float], second: Sequence[float]) -> str:
    """Returns the mean paired difference with Student's 95 % interval."""
    found = statistics.paired_interval(first, second)
    return interval(found.mean, found.low, found.high)
