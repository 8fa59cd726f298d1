"""What the tables of configs look at."""

import importlib
import json

import numpy as np

from elu_zoo.data import dataset
from elu_zoo.training import config_fields

CIFAR = ("elu_cifar_11", "elu_cifar_18")


def get_config(name, arg=""):
    return importlib.import_module(f"elu_zoo.configs.{name}").get_config(arg)


def flat(config):
    """Returns every field of a config, neutral ones too, by its whole name."""
    return config_fields.flat(json.loads(config.to_json_best_effort()))


def loader(shape, classes, images=None):
    """Returns `load.load` of random images: 96 to train on, 8 for each measure.

    Args:
        shape: of an image.
        classes: the number of them.
        images: the name of the images; that of the data set unless given.
    """
    generator = np.random.default_rng(0)

    def split(count):
        pixels = generator.integers(0, 256, (count, *shape), "uint8")
        return dataset.Split(pixels, generator.integers(0, classes, count, "int32"))

    parts, names = (split(96), split(8), split(8)), tuple(map(str, range(classes)))

    def load(name, data_dir=None, image_shape=None):
        return dataset.ImageData(name, *parts, names, "", "terms", images or name)

    return load


def observables(config, workdir, entry):
    """Returns what the folder of a finished run shows."""
    from elu_zoo.bin.train import default_workdir

    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    steps = [p.name[5:] for p in (workdir / "checkpoints").iterdir()]
    return {
        "workdir": str(default_workdir(config)),
        "schedule": entry["schedule"],
        "share": entry["schedule_share"],
        "model": entry["model"],
        "dataset": entry["dataset"],
        "activation": entry["arguments"]["activation"]["name"],
        "alpha": entry["arguments"]["activation"].get("alpha"),
        "parameters": entry["parameters"],
        "epoch_ends": [row["step"] for row in rows],
        "evaluated": [r["epoch"] for r in rows if "validation_loss" in r],
        "checkpoints": sorted(int(step) for step in steps),
        "first_loss": rows[0]["train_loss"],
        "last_loss": rows[-1]["train_loss"],
    }
