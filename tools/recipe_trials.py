"""Trials of the schedule `quick`: errors on held-out training images, one row a run.

python tools/recipe_trials.py --stage=peak --runs=$HOME/trials

Every trial trains on 45,000 images of CIFAR-100 and is measured on the other 5,000 of
its training set; test images are never read. A trial that is in the table is not run
again, one that was stopped goes on. The table is configs/results/quick_trials.csv.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from absl import app, flags, logging
from ml_collections import ConfigDict

from elu_zoo import results, training
from elu_zoo.configs import elu_cifar_11

_TABLE = Path(__file__).resolve().parent.parent / "configs/results/quick_trials.csv"
_COLUMNS = (
    "stage activation width epochs seed peak dropout sgd_factor initial_kernels "
    "init_scale label_smoothing train_loss validation_loss validation_error_percent "
    "seconds"
).split()
# What a trial changes of these, which are a column each.
_BASE = {
    "width": 0.5,
    "epochs": 4,
    "seed": 0,
    "peak": 0.02,
    "dropout": 0.0,  # share of the paper's
    "sgd_factor": 2.5,
    "initial_kernels": "normal",
    "init_scale": 2.0,
    "label_smoothing": 0.0,
}
_BOTH = "elu", "relu"
_ALL = *_BOTH, "leaky_relu", "shifted_relu"
# A stage varies one thing from `_BASE`, for every activation alike. What it chose is
# put into `_BASE` before the next stage.
STAGES: dict[str, tuple[tuple[str, ...], dict[str, tuple]]] = {
    "peak": (_ALL, {"peak": (0.01, 0.015, 0.02)}),
    "sgd_factor": (_BOTH, {"sgd_factor": (1.0, 2.5, 5.0)}),
    "initial_kernels": (_BOTH, {"initial_kernels": ("normal", "orthogonal")}),
    "label_smoothing": (_BOTH, {"label_smoothing": (0.0, 0.1)}),
    "dropout": (_BOTH, {"dropout": (0.0, 0.25, 0.5)}),
}

_STAGE = flags.DEFINE_enum("stage", "peak", list(STAGES), "What is tried.")
_RUNS = flags.DEFINE_string("runs", "runs/trials", "Gets a folder for each trial.")


def trials(stage: str) -> Iterator[dict[str, Any]]:
    """Yields the trials of a stage, activations side by side."""
    activations, varied = STAGES[stage]
    for values in itertools.product(*varied.values()):
        for activation in activations:
            changes = dict(zip(varied, values, strict=True))
            yield {**_BASE, **changes, "activation": activation}


def config_of(trial: dict[str, Any]) -> ConfigDict:
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
    train.learning_rates = (0.0, trial["peak"], 0.0)
    train.dropout = (tuple(trial["dropout"] * r for r in elu_cifar_11.DROPOUT),)
    train.sgd_factor = trial["sgd_factor"]
    train.label_smoothing = trial["label_smoothing"]
    return config


def run(trial: dict[str, Any], runs: Path) -> dict[str, Any]:
    """Trains a trial, or resumes it, and returns its row."""
    name = "-".join(str(value) for value in trial.values())
    entry = training.train(config_of(trial), runs / name)
    last = json.loads((runs / name / "metrics.jsonl").read_text().splitlines()[-1])
    measured = {"train_loss": last["train_loss"], "seconds": entry["wall_time_seconds"]}
    return trial | entry["metrics"] | measured


def main(argv: list[str]) -> None:
    del argv
    rows = results.read_file(_TABLE)
    for trial in trials(_STAGE.value):
        key = {k: str(v) for k, v in trial.items()}
        if any(all(row[k] == v for k, v in key.items()) for row in rows):
            continue
        row = {"stage": _STAGE.value} | run(trial, Path(_RUNS.value))
        rows = [*results.read_file(_TABLE), {c: row[c] for c in _COLUMNS}]
        results.write(_TABLE, _COLUMNS, rows)
        logging.info("%s", row)


if __name__ == "__main__":
    app.run(main)
