"""Synthetic rows of experiments, in which every claim of the paper is true, or false.

The rows have every column, and values are text, as in rows read from a CSV file.
"""

import functools
import zlib
from pathlib import Path

import numpy as np

from elu_zoo import results
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper import views
from elu_zoo.paper.experiments import EXPERIMENTS

TRAINED = [name for name, each in EXPERIMENTS.items() if each.trials]
FULL = Plan("full", None, Path("runs"), imagenet="pictures")
# Activations from the best to the worst; "+bn" stands for batch normalisation.
ORDER = (
    *("elu", "elu+bn", "shifted_relu", "shifted_relu+bn", "leaky_relu+bn"),
    *("leaky_relu", "relu+bn", "prelu", "relu"),
)
# Columns that state where in a run a number was measured.
PLACES = "epoch", "damping", "step", "layer", "hidden_layer", "hidden_layers"
_EPOCHS = *range(27), 50, 60
_VECTORS = "variance_of_changes", "variance_of_medians"
_END_COLUMNS = "test_loss", "test_error_percent"
# Errors that the paper reports for levels of ELU, SReLU, LReLU and ReLU, extended.
_LEVELS, _ERRORS = (0, 1, 2, 3.5, 5, 7), (28.15, 28.75, 29.35, 30.59, 31.56, 32.85)


def view(name, plan=FULL, contradicts=False):
    """Returns the view of an experiment; see `rows_of` for the arguments."""
    needed = [rows_of(need, plan, contradicts) for need in views.needs(name)]
    return views.View(plan.budget, [row for rows in needed for row in rows])


def write(name, output, plan=FULL, contradicts=False, diverged=()):
    """Writes the CSV files that an experiment needs.

    Args:
        name: name of the experiment.
        output: folder of the results.
        plan: see `rows_of`.
        contradicts: see `rows_of`.
        diverged: pairs (activation, seed) of this experiment's runs that diverged.
    """
    for need in views.needs(name):
        path = output / views.FIGURES / f"{need}.csv"
        if need != name and path.exists():
            continue
        removed = set(diverged) if need == name else set()
        rows = [
            row
            for row in rows_of(need, plan, contradicts)
            if (row["activation"], int(row["seed"])) not in removed
        ]
        if rows:
            results.write(path, list(rows[0]), rows)
        stored = views.points(need, output)
        for trial in EXPERIMENTS[need].trials(plan):
            if (trial.activation, trial.seed) in removed:
                stored.put(trial, [{"diverged": "it ended in nan"}])


def set_errors(rows, activation, seeds, error="99", batch_norm="False"):
    """Replaces measured test errors of runs; guessing among 100 classes has 99 %."""
    for row in rows:
        arm = row["activation"], row["batch_norm"]
        if arm == (activation, batch_norm) and int(row["seed"]) in seeds:
            row["test_error_percent"] = row["test_error_percent"] and error


def rows_of(name, plan=FULL, contradicts=False):
    """Returns the rows of an experiment with runs.

    Args:
        name: name of the experiment.
        plan: the plan, which decides the runs of the experiment.
        contradicts: whether all numbers contradict the paper.
    """
    columns = EXPERIMENTS[name].columns
    rows = []
    for key in _keys(name, plan):
        places, level = _places(columns, key), _level(key)
        for place in places:
            row = key | {c: place.get(c, "") for c in columns} | {"diverged": ""}
            row["last"] = place is places[-1]
            for column in columns:
                if column not in (*PLACES, "diverged") and _is_measured(column, row):
                    row[column] = _cell(row, column, level, contradicts)
            del row["last"]
            rows.append(row)
    return rows


@functools.cache  # the hash of a config, which is in a key, takes long
def _keys(name, plan):
    return [trial.key for trial in EXPERIMENTS[name].trials(plan)]


def _level(key):
    """Returns the level of a run's numbers if the paper is right; lower is better."""
    arm = key["activation"] + ("+bn" if key["batch_norm"] == "True" else "")
    level = 1 + ORDER.index(arm) / 2 if arm in ORDER else 5.2
    if key["variant"].startswith("lr "):  # a higher learning rate is better
        level -= 0.05 * np.log10(float(key["variant"].split()[1]))
    text = f"{arm} {key['variant']} {key['seed']}"
    return level + zlib.crc32(text.encode()) / 2**32 / 50


def _places(columns, key):
    if "damping" in columns:
        dampings = "0.001", "0.01", "0.1"
        return [{"epoch": str(epoch), "damping": x} for epoch in _EPOCHS for x in dampings]
    if "hidden_layer" in columns:
        return [{"epoch": epoch, "hidden_layer": x} for epoch in "05" for x in "12"]
    if "layer" in columns:
        return [{"layer": layer} for layer in ("dense1", "dense2")]
    if "step" in columns:
        return [{"step": str(100 * i), "epoch": str(i)} for i in range(1, 7)]
    if "epoch" in columns:
        return [{"epoch": str(epoch)} for epoch in _EPOCHS]
    return [{"hidden_layers": key["variant"][:2].lstrip("0")}]


def _is_measured(column, row):
    """Returns whether `measure` has a value in this row and column."""
    if column.startswith("error_at_noise") or (column in _END_COLUMNS and "step" not in row):
        return row["last"]
    # In epoch 0, before training, no loss is measured.
    return column == "median_activation" or not (row.get("epoch") == "0" and "train_loss" in row)


def _cell(row, column, level, contradicts):
    value = 6.5 - level if contradicts else level
    # Differences vary from seed to seed, because equal ones would decide nothing.
    quality, of_seed = value, level % 0.5
    is_odd = int(row["seed"]) % 2
    value *= 1 + zlib.crc32(column.encode()) % 1000 / 1000  # columns differ
    # The first unit never changes: with ELU if the paper is right, else with others.
    if column in _VECTORS:
        first = 0 if (row["activation"] == "elu") != contradicts else 1
        factors = first, first if is_odd else 2, 2, 4
        return " ".join(f"{value * factor:.6g}" for factor in factors)
    if column.startswith("positive_share"):
        return f"{(-0.1 if contradicts else 0.9) + of_seed:.6g}"
    if column == "cosine":  # higher values are better
        return f"{1 - value / 20:.6g}"
    if column == "gradient_norm":  # lower values are worse in the first layer
        return f"{10 ** -(value if row['hidden_layer'] == '1' else 0):.6g}"
    if column == "k":
        return f"{1 - value / 20 if contradicts else 1 + value:.6g}"
    if column == "median_activation":  # flat after epoch 25 or, if `contradicts`, rising
        value *= 1 + max(0, int(row["epoch"]) - 25) * (contradicts / 25 + of_seed / 3000)
        value *= -1 if row["activation"] == "elu" else 1
    if column.endswith("_loss") and row.get("epoch"):
        # The loss falls until epoch 25, and is then flat or, if `contradicts`, rises.
        epoch = int(row["epoch"])
        rise = contradicts * max(0, epoch - 25) / 25
        flat = 2e-5 * (1 + of_seed * epoch / 600)
        value *= flat + np.exp(-epoch / (0.3 * quality)) + rise
    if column == "test_error_percent":  # no reported error is reached if `contradicts`
        value = float(np.interp(quality, _LEVELS, _ERRORS)) + 50 * contradicts
    return f"{value:.6g}"
