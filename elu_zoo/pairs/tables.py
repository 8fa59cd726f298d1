"""Markdown tables of results, and numbers as text."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from elu_zoo.pairs import grouping


def markdown(titles: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Returns a Markdown table of column titles and lines of cells."""
    head = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(map(str, x))} |" for x in lines)])


def mean(values: Iterable[float]) -> str:
    """Returns `mean ± standard deviation` with at least three digits, "" for no values."""
    values = list(values)
    if not values:
        return ""
    text = f"{(middle := np.mean(values)):.{3 + (abs(middle) >= 10)}g}"
    return text if len(values) == 1 else f"{text} ± {np.std(values, ddof=1):.2g}"


def ends(frame: pd.DataFrame, columns: Mapping[str, str]) -> str:
    """Returns a table of the last values of titled columns: means over the runs of arms."""
    lines = []
    runs_of_arms = grouping.ends(frame, [*columns]).groupby(level=[*grouping.ARM], observed=True)
    for (batch_norm, variant, name), runs in runs_of_arms:
        arm = name + " + batch norm" * batch_norm + f", {variant}" * bool(variant)
        lines.append([arm, len(runs), *(mean(runs[column].dropna()) for column in columns)])
    return markdown(["activation", "runs", *columns.values()], lines)


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
