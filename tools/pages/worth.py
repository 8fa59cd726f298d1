"""Table of the README: test errors with ELU minus those with ReLU, in pairs of runs."""

import math
from collections import defaultdict

from elu_zoo import results
from elu_zoo.pairs import statistics, tables
from pages import runs, units

_UNITS = "elu", "relu"
_TITLES = "network;data;recipe;pairs;ELU;ReLU;ELU - ReLU (95 % interval);the paper's ELU, ReLU"
_BEST = "each activation at its best tried learning rate, 60 epochs"


def table(rows: runs.Rows, compared: dict[str, runs.Rows], paper: runs.Rows) -> str:
    """Returns a Markdown table of results.csv, comparisons (by recipe) and paper.csv."""
    groups: dict = defaultdict(lambda: defaultdict(list))
    for row in rows:
        classifies = row["batch_norm"] == "False" and row["test_error_percent"]
        is_shown = classifies and not row["config"].startswith("mnist_depth-")
        if is_shown and runs.beats_chance(row):
            key = row["model"], row["dataset"], _recipe(row)
            groups[key][row["activation"]].append(row)
    ours = {"schedule": "ours", "schedule_share": 1}
    for more, each in compared.items():
        for name, own in units.at_best_rate(each).items():
            trained = [row | ours | {"test_error_percent": row["error"]} for row in own]
            if all(row["error"] for row in own):  # else not compared, as in the comparison
                groups["mnist_mlp_8x128", "mnist", _BEST + more][name] = trained
    lines = []
    for (network, *recipe), own in groups.items():
        if set.intersection(*(set(_errors(own[name])) for name in _UNITS)):
            papers = [runs.papers_error(own[name], paper) for name in _UNITS]
            cells = *_compared(own), ", ".join(papers) if all(papers) else ""
            lines.append([f"`{network}`", *recipe, *cells])
    return tables.markdown(_TITLES.split(";"), sorted(lines, key=lambda x: (x[1], x[0], x[2])))


def _recipe(row: dict[str, str]) -> str:
    if not row["config"].startswith("finetune-"):
        usual = f"table1_baselines-{row['model']}-{row['dataset']}".split("-")
        usual += [row["schedule"] + row["epochs"]]
        others = [word for word in row["config"].split("-") if word not in usual]
        return ", ".join([runs.schedule(row), *others])
    parent, *others = row["config"].partition("@")[0].split("-")[2:]  # none-500@cifar10
    parent = "no weights" if parent == "none" else f"one {parent} file per activation"
    others = [f"{word} images" if word.isdecimal() else word for word in others]
    return ", ".join([f"fine-tuned from {parent}", *others])


def _compared(own: dict[str, runs.Rows]) -> list[str]:
    """Returns the number of pairs, both errors, and the difference with its interval."""
    elu, relu = (_errors(own[name]) for name in _UNITS)
    pairs = sorted({each[0]: each for each in elu.keys() & relu.keys()}.values())
    pair = [elu[each] for each in pairs], [relu[each] for each in pairs]
    found = statistics.paired_interval(*pair)
    interval = f" ({found.low:+.3g} to {found.high:+.3g})" * (not math.isnan(found.low))
    errors = [f"{results.spread(values)} %" for values in pair]
    return [str(len(pairs)), *errors, f"**{found.mean:+.2f}**{interval}"]


def _errors(own: runs.Rows) -> dict[tuple, float]:
    """Returns the test error of each run by what the runs of a pair share."""
    return {(row["seed"], row.get("backend")): float(row["test_error_percent"]) for row in own}
