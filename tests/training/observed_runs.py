"""Runs on random images that record the measures of `Observe` for figures."""

import contextlib

import numpy as np
import pytest
import small_stacks

from elu_zoo import registry, training
from elu_zoo.configs import quickstart
from elu_zoo.data import dataset, load
from elu_zoo.training.record import recorder
from elu_zoo.training.record.recorder import Observe


def make_data():
    """Returns random images in a data set named mnist_5k, which configs accept."""
    generator = np.random.default_rng(0)

    def split(count):
        images = generator.integers(0, 256, (count, 6, 6, 1), "uint8")
        return dataset.Split(images, generator.integers(0, 10, count, "int32"))

    parts, classes = (split(96), split(20), split(40)), tuple("0123456789")
    return dataset.ImageData("mnist_5k", *parts, classes, "", "terms", "mnist_5k")


# Three epochs of six iterations. Only the last iteration has a checkpoint and a record.
DATA, EPOCH, TOTAL = make_data(), 6, 18
ENTRIES = {
    "model.width": 0.1,
    "train.batch_size": 16,
    "train.epochs": 3,
    "train.momentum": 0.9,
    "train.learning_rates": (0.02,),
    "train.checkpoint_every": 7,
}
OBSERVE = Observe(
    losses=True, test_every=5, measured_images=30, activation_images=50, snapshots=(0, 2, 3, 9)
)
# Iterations after which OBSERVE measures the test images.
TESTED = [5, 10, 15, 18]
# A run with batch normalisation, random slopes and bfloat16.
STACKS = {
    "model.batch_norm": True,
    "model.activation.name": "rrelu",
    "data.train_examples": 96,
    "data.train_on_validation": False,
    "train.precision": "bfloat16_conv",
    "train.checkpoint_every": 100,
}
OBSERVE_STACKS = Observe(test_every=5, activation_images=-1, snapshots=(2,))


def get_config(entries=()):
    config = quickstart.get_config("smoke=True")
    config.update_from_flattened_dict({**ENTRIES, **dict(entries)})
    return config


def train(config, workdir, observe=None, **arguments):
    arguments = {"compile": "off", **arguments}
    return training.train(config, workdir, observe=observe, **arguments)


@contextlib.contextmanager
def random_data():
    """Replaces every data set by DATA, and registers `small_stacks`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "load", lambda *_: DATA)
        known = {name: registry.entry(name) for name in registry.names()}
        patch.setattr(registry, "_MODELS", known)
        small_stacks.register()
        yield


def read_records(workdir):
    """Returns {relative path: content in bytes} of the records of a run."""
    names = "metrics.jsonl", recorder.LOSSES, recorder.TEST
    folders = recorder.ACTIVATIONS, recorder.SNAPSHOTS
    paths = [workdir / name for name in names if (workdir / name).exists()]
    paths += [path for name in folders for path in (workdir / name).glob("*")]
    return {str(p.relative_to(workdir)): p.read_bytes() for p in paths}
