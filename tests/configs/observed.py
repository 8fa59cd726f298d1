"""Observables: values of a run in which tests see the effect of a config field."""

import importlib
import json

import numpy as np

from elu_zoo.bin.config import default_workdir
from elu_zoo.data import dataset
from elu_zoo.training import config_fields

CIFAR = ("elu_cifar_11", "elu_cifar_18")
# Fields of the base runs of CIFAR and ImageNet networks. An epoch has 3 iterations.
SCHEDULE = {
    "train.boundaries": (1,),
    "train.learning_rates": (0.01, 0.005),
    "train.checkpoint_every": 2,
    "train.checkpoints_kept": 2,
}
RATES = [0.01] + [0.005] * 5
LINEAR = [0.01 - 0.005 * i / 6 for i in range(6)]
# field: (a changed value of the field, name of an observable, the observable in the
# base run, the observable with the changed value). None means not checked.
FIELDS = {
    "name": ("other", "workdir", None, "runs/other/elu-s0-smoke"),
    "seed": (1, "kernel", None, None),
    "schedule": ("ours", "schedule", "paper", "ours"),
    "model.activation.name": ("relu", "activation", "elu", "relu"),
    "model.activation.alpha": (0.5, "alpha", 1.0, 0.5),
    "model.init_scale": (4.0, "kernel", None, None),
    "train.epochs": (3, "epoch_ends", [3, 6], [3, 6, 9]),
    "train.label_smoothing": (0.1, "smoothing", None, 0.05),
    "train.optimizer": ("muon", "optimizer", "SGD", "Muon"),
    "train.sgd_factor": (3.0, "sgd_factor", None, 3.0),
    "train.sgd_decay": (0.5, "sgd_decay", None, 0.5),
    "train.precision": ("float32", "compute_dtype", "bfloat16", "float32"),
    "train.momentum": (0.5, "momentum", 0.9, 0.5),
    "train.nesterov": (True, "nesterov", False, True),
    "train.learning_rate_shape": ("linear", "rates", RATES, LINEAR),
    "train.boundaries": ((4,), "rates", RATES, [0.01] * 4 + [0.005] * 2),
    "train.learning_rates": ((0.01, 0.02), "rates", RATES, [0.01] + [0.02] * 5),
    "train.evaluate_every": (2, "evaluated", [1, 2], [2]),
    "train.checkpoint_every": (5, "checkpoints", [4, 6], [5, 6]),
    "train.checkpoints_kept": (3, "checkpoints", [4, 6], [2, 4, 6]),
}
_MUON = {"train.optimizer": "muon", "train.nesterov": True, "model.kernel_decay": 0.0}
# field: entries that a config needs if the field has the changed value.
NEEDED_ENTRIES = {
    "train.optimizer": _MUON,
    "train.sgd_factor": _MUON,
    "train.sgd_decay": _MUON,
    "train.learning_rate_shape": {"train.boundaries": ()},
}


def get_config(name, arg=""):
    return importlib.import_module(f"elu_zoo.configs.{name}").get_config(arg)


def flat(config):
    """Returns {dotted field name: value} of a config."""
    return config_fields.flat(json.loads(config.to_json_best_effort()))


def loader(shape, classes, images=None):
    """Returns a replacement for `load.load` that returns random images.

    Args:
        shape: shape of an image.
        classes: number of classes.
        images: name of the data set that the images are from, by default the name
            that `load.load` is called with.
    """
    generator = np.random.default_rng(0)

    def split(count):
        pixels = generator.integers(0, 256, (count, *shape), "uint8")
        return dataset.Split(pixels, generator.integers(0, classes, count, "int32"))

    splits, names = (split(96), split(8), split(8)), tuple(map(str, range(classes)))

    def load(name, data_dir=None, image_shape=None):
        return dataset.ImageData(name, *splits, names, "", "terms", images or name)

    return load


def check_change(row, base, changed):
    """Checks the observable of a row of `FIELDS` in the base run and a changed run."""
    _, observable, expected_base, expected = row
    if expected_base is not None:
        assert base[observable] == expected_base
    if expected is not None:
        assert changed[observable] == expected
    assert changed[observable] != base[observable]


def learner_observables(learner):
    """Returns the observables of an optimizer and an objective."""
    observables = {
        name: getattr(learner.optimizer, name, None)
        for name in ("momentum", "nesterov", "sgd_factor", "sgd_decay")
    }
    observables["optimizer"] = type(learner.optimizer).__name__
    # For class 1 and the logits (0, 1), the loss term is smoothing * (1 - 0.5).
    smoothing = learner.objective.smoothing(np.array([1]), np.array([[0.0, 1.0]]))
    return observables | {"smoothing": smoothing}


def observables(config, workdir, entry):
    """Returns the observables in the folder and in the manifest entry of a run."""
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    steps = [p.stem[5:] for p in (workdir / "checkpoints").iterdir()]
    return {
        "workdir": str(default_workdir(config)),
        "schedule": entry["schedule"],
        "schedule_share": entry["schedule_share"],
        "model": entry["model"],
        "dataset": entry["dataset"],
        "activation": entry["arguments"]["activation"]["name"],
        "alpha": entry["arguments"]["activation"].get("alpha"),
        "parameters": entry["parameters"],
        "epoch_ends": [row["step"] for row in rows],
        "evaluated": [r["epoch"] for r in rows if "validation_loss" in r],
        "checkpoints": sorted(int(step) for step in steps),
        "kept_step": entry.get("kept_step", 0),
        "first_loss": rows[0]["train_loss"],
        "last_loss": rows[-1]["train_loss"],
    }
