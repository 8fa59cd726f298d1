"""Rows of an experiment's CSV file, grouped by arm and by seed."""

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

Rows = list[dict[str, str]]
ARM = "batch_norm", "variant", "activation"
_TEXT = "budget", "activation", "batch_norm", "variant", "arm", "diverged"
_OF_THE_PAPER = "elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu"


class Arm(NamedTuple):
    """The settings that distinguish the networks of one experiment."""

    activation: str
    batch_norm: bool = False
    variant: str = ""  # another difference, such as the learning rate


def of_arm(frame: pd.DataFrame, arm: Arm) -> pd.DataFrame:
    """Returns the rows of an arm."""
    own = (frame["activation"] == arm.activation) & (frame["batch_norm"] == arm.batch_norm)
    return frame[own & (frame["variant"] == arm.variant)]


def final_values(frame: pd.DataFrame, arm: Arm, column: str) -> dict[int, float]:
    """Returns a column's last value in each run of an arm that did not diverge, by seed."""
    own = of_arm(frame, arm)
    finished = own[own["diverged"] == ""] if "diverged" in own else own
    return finished.groupby("seed")[column].last().dropna().to_dict()


def pairs(
    first: Mapping[int, float], second: Mapping[int, float]
) -> tuple[list[float], list[float]]:
    """Returns the values of both arms for their common seeds, if both are finite."""
    common = first.keys() & second.keys()
    seeds = sorted(s for s in common if math.isfinite(first[s] - second[s]))
    return [first[s] for s in seeds], [second[s] for s in seeds]


def frame(rows: Iterable[Mapping[str, str]]) -> pd.DataFrame:
    """Returns rows of CSV files with numbers instead of their texts.

    Activations are categories: first the paper's, then the others by name. Empty cells are NaN,
    except in the columns of text that every experiment with runs has.
    """
    table = pd.DataFrame(list(rows))
    for name in table.columns.difference(_TEXT):
        table[name] = table[name].replace(["", "nan"], np.nan)
        with contextlib.suppress(ValueError):  # a column of text
            table[name] = pd.to_numeric(table[name])
    if "activation" in table:
        others = sorted(set(table["activation"]) - {*_OF_THE_PAPER})
        table["activation"] = pd.Categorical(table["activation"], [*_OF_THE_PAPER, *others])
    if "batch_norm" in table:
        table["batch_norm"] = table["batch_norm"] == "True"
    return table


def ends(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Returns the last values of columns in each run that did not diverge.

    Its index has the levels batch_norm, variant, activation and seed.
    """
    finished = frame[frame["diverged"] == ""] if "diverged" in frame else frame
    return finished.groupby([*ARM, "seed"], observed=True)[list(columns)].last()


def spread(runs: pd.Series, at: str) -> pd.DataFrame:
    """Returns means and standard deviations over runs, as `plots.dots` takes them.

    Args:
        runs: values with the levels of `ends`.
        at: the level whose values are the places of the dots.
    """
    values = runs.groupby(["batch_norm", "activation", at], observed=True)
    table = pd.DataFrame({"middle": values.mean(), "deviation": values.std()}).reset_index()
    table["low"] = table["middle"] - table["deviation"]
    table["high"] = table["middle"] + table["deviation"]
    return table
