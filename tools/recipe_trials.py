"""Trials of the schedule `quick`, measured on held-out training images.

python tools/recipe_trials.py --runs=$HOME/trials

Every trial trains on 45,000 training images of CIFAR-100 and is measured on the other
5,000; no test image is read. Each stage varies one setting of the best recipe of the
previous stages; the last stages train longer. The table is
configs/results/quick_trials.csv, with a row per trial. A trial in the table is not
repeated, and a stopped trial is resumed.
"""

import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from absl import app, flags, logging
from ml_collections import ConfigDict

from elu_zoo import results, training
from elu_zoo.configs import elu_cifar_11

_TABLE = Path(__file__).resolve().parent.parent / "configs/results/quick_trials.csv"
_COLUMNS = (
    "stage activation width epochs seed peak dropout sgd_factor initial_kernels "
    "init_scale label_smoothing cutout train_loss validation_loss "
    "validation_error_percent seconds"
).split()
# The recipe before the first stage. Dropout is a factor on the paper's rates.
_BASE = {
    "width": 0.5,
    "epochs": 4,
    "seed": 0,
    "peak": 0.02,
    "dropout": 0.0,
    "sgd_factor": 2.5,
    "initial_kernels": "normal",
    "init_scale": 1.0,
    "label_smoothing": 0.0,
    "cutout": 0,
}
_BOTH = "elu", "relu"
_ALL = *_BOTH, "leaky_relu", "shifted_relu"
# The activations and values that the stage of each setting tries. The next stages use
# the value with the lowest mean error of ELU and ReLU.
STAGES: dict[str, tuple[tuple[str, ...], tuple]] = {
    "init_scale": (_BOTH, (0.25, 0.5, 1.0, 1.5)),
    "sgd_factor": (_BOTH, (2.5, 5.0)),
    "peak": (_ALL, (0.01, 0.015, 0.02)),
    "initial_kernels": (_BOTH, ("normal", "orthogonal")),
    "label_smoothing": (_BOTH, (0.0, 0.1)),
    "dropout": (_BOTH, (0.0, 0.25, 0.5)),
}
# Dropout is tried again in the long stage, at full width, because a network of half the
# width hardly overfits in four epochs.
_LONG = {"width": 1.0, "epochs": 30}
_LONG_DROPOUT = 0.25, 0.5
# Runs of 100 epochs are expected to overfit more.
_LONGEST = {"width": 1.0, "epochs": 100, "dropout": 0.5}
_LONGEST_CUTOUT = 0, 8
# The last stage: the two best recipes at full width, with paired seeds.
_FINAL = {"width": 1.0, "epochs": 8}
_SEEDS = range(3)

_RUNS = flags.DEFINE_string("runs", "runs/trials", "Folder that holds the folder of each trial.")

Rows = list[dict[str, str]]


def trials(rows: Rows) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields pairs (stage, trial); `rows` decide the trials of later stages."""
    base = dict(_BASE)
    for stage, (activations, values) in STAGES.items():
        for value, activation in itertools.product(values, activations):
            yield stage, base | {stage: value, "activation": activation}
        base = min((base | {stage: value} for value in values), key=_error(rows))
    for dropout in _LONG_DROPOUT:
        yield "long", base | _LONG | {"dropout": dropout, "activation": "elu"}
    for cutout in _LONGEST_CUTOUT:
        yield "longest", base | _LONGEST | {"cutout": cutout, "activation": "elu"}
    recipes = {tuple(r[k] for k in _BASE): r for r in rows if r["width"] == "0.5"}
    distinct = [{k: type(_BASE[k])(r[k]) for k in _BASE} for r in recipes.values()]
    best = sorted(distinct, key=_error(rows))[:2]
    for seed, recipe, activation in itertools.product(_SEEDS, best, _BOTH):
        yield "full_width", recipe | _FINAL | {"seed": seed, "activation": activation}


def find_row(trial: dict[str, Any], rows: Rows) -> dict[str, str] | None:
    """Returns the row of a trial, or None if there is no row."""
    key = {k: str(v) for k, v in trial.items()}
    return next((row for row in rows if key.items() <= row.items()), None)


def _error(rows: Rows) -> Callable[[dict[str, Any]], float]:
    """Returns a function from a recipe to the mean error of ELU and ReLU."""

    def error(recipe: dict[str, Any]) -> float:
        pair = [find_row(recipe | {"activation": a}, rows) for a in _BOTH]
        if not all(pair):
            return math.inf
        return sum(float(row["validation_error_percent"]) for row in pair) / len(pair)

    return error


def make_config(trial: dict[str, Any]) -> ConfigDict:
    """Returns the config of a trial."""
    config = elu_cifar_11.get_config(
        f"schedule=quick,epochs={trial['epochs']},validation=True,"
        f"activation={trial['activation']},seed={trial['seed']}"
    )
    model, train = config.model, config.train
    model.width = float(trial["width"])
    model.initial_kernels = trial["initial_kernels"]
    model.init_scale = trial["init_scale"]
    config.data.measure_test = False
    config.data.cutout = trial["cutout"]
    train.learning_rates = (0.0, trial["peak"], 0.0)
    train.dropout = (tuple(trial["dropout"] * r for r in elu_cifar_11.DROPOUT),)
    train.sgd_factor = trial["sgd_factor"]
    train.label_smoothing = trial["label_smoothing"]
    return config


def run(trial: dict[str, Any], runs: Path) -> dict[str, Any]:
    """Trains a trial, or resumes it, and returns its row."""
    name = "-".join(str(value) for value in trial.values())
    entry = training.train(make_config(trial), runs / name)
    last = json.loads((runs / name / "metrics.jsonl").read_text().splitlines()[-1])
    measured = {"train_loss": last["train_loss"], "seconds": entry["wall_time_seconds"]}
    return trial | entry["metrics"] | measured


def main(argv: list[str]) -> None:
    del argv
    rows = results.read_file(_TABLE)
    missing = (each for each in trials(rows) if not find_row(each[1], rows))
    if found := next(missing, None):
        stage, trial = found
        row = {"stage": stage} | run(trial, Path(_RUNS.value))
        results.write(_TABLE, _COLUMNS, [*rows, {c: str(row[c]) for c in _COLUMNS}])
        logging.info("%s", row)
        # A new process for the next trial frees a gigabyte of compiled functions.
        os.execv(sys.executable, [sys.executable, *sys.argv])


if __name__ == "__main__":
    app.run(main)
