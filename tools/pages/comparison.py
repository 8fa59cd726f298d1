"""Sentence of the README about the comparison of activations that is in the repository.

compare.csv has runs at the config's learning rates (factor 1) and at the best rates;
tuning.csv has the tuning runs, by which the best rates were chosen.
"""

import collections
import math
import re

from elu_zoo import results
from elu_zoo.compare import paired_tests, tuning
from elu_zoo.pairs import tables
from pages import marks

FOLDER = "configs/results/compare"
_VERDICTS = (
    "lower error",
    "cannot be told apart",
    "higher error",
    "not tested: equal differences",
    "not trained",
    "too few pairs",
)


def summary(rows: list[results.Row], trials: list[results.Row], link: marks.Link) -> str:
    """Returns the verdict on each activation at its best learning rate.

    Args:
        rows: of compare.csv.
        trials: of tuning.csv.
        link: see `marks.Link`.
    """
    tried = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in sorted(trials, key=lambda row: int(row["seed"])):
        tried[row["activation"]][float(row["factor"])].append(_error(row))
    choices = {name: tuning.choose(errors) for name, errors in tried.items()}
    runs: dict[str, dict[int, float]] = {name: {} for name in choices}
    for row in rows:
        if float(row["factor"]) == choices[row["activation"]].factor:
            runs[row["activation"]][int(row["seed"])] = _error(row)
    reference, *others = paired_tests.compared(runs)
    others.sort(key=lambda each: each.rank or math.inf)

    def name(each: paired_tests.Tested) -> str:
        at_edge = choices[each.activation].at_edge
        return each.activation + " (best rate at the edge of those tried)" * at_edge

    parts = []
    for verdict in _VERDICTS:
        if names := [name(each) for each in others if each.verdict == verdict]:
            parts.append(f"**{verdict}** {', '.join(names)}")
    config, epochs = (
        re.search(rf"--config{field}=(\S+)", rows[0]["command"])[1]
        for field in ("", ".train.epochs")
    )
    return (
        f"{len(runs)} activations on `{config}`, {epochs} epochs, "
        f"{len(reference.errors)} pairs of runs, each activation at the best rate that "
        f"was tried, against {name(reference)} "
        f"({tables.mean(reference.errors.values())} %): {'; '.join(parts)}. "
        f"[The report]({link(FOLDER)}/report.md) says what this does not show."
    )


def _error(row: results.Row) -> float:
    """Returns the error of a run, NaN if the run diverged."""
    return float(row["error"] or "nan")
