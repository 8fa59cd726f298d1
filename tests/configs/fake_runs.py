"""Runs whose training step is fake: it records what a field decides, and learns nothing."""

import importlib
import json
from types import SimpleNamespace

import numpy as np
import pytest

from elu_zoo import registry, training
from elu_zoo.data import dataset, load
from elu_zoo.evaluation import loss
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.training.fields import flat as flatten
from elu_zoo.training.step import resident, stream


def get_config(name, arg=""):
    return importlib.import_module(f"elu_zoo.configs.{name}").get_config(arg)


def flat(config):
    """Returns {dotted field name: value} of a config."""
    return flatten(json.loads(config.to_json_best_effort()))


def loader(shape, classes, images=None):
    """Returns a replacement for `load.load` with random images, of the data set `images` or of
    the one that is asked for.
    """
    generator = np.random.default_rng(0)

    def split(count):
        pixels = generator.integers(0, 256, (count, *shape), "uint8")
        return dataset.Split(pixels, generator.integers(0, classes, count, "int32"))

    splits, names = (split(96), split(8), split(8)), tuple(map(str, range(classes)))

    def load(name, data_dir=None, image_shape=None):
        # Smaller images are cut out.
        height, width = (image_shape or shape)[:2]
        cut = (dataset.Split(x.images[:, :height, :width], x.labels) for x in splits)
        return dataset.ImageData(name, *cut, names, "", "terms", images or name)

    return load


def observe(config, workdir, shape):
    """Runs a config on random images of a shape; returns what the run did.

    These are config, entry, rows of metrics.jsonl, steps of checkpoints, model, learner, data,
    rates, layers (of each iteration: {name: dropout rate or whether heads are active}), draws,
    and the numbers of evaluated images.
    """
    run = SimpleNamespace(config=config, rates=[], layers=[], draws=[], evaluated=[])

    def record(self, batches, rates, first_step, draws):
        update = self._update
        run.model, run.learner = update._model, update._learner
        run.data = getattr(self, "_data", None)  # of images that stay on the disk
        run.rates += [pytest.approx(rate) for rate in rates.tolist()]
        state = {x.name: getattr(x, "rate", getattr(x, "active", None)) for x in run.model.layers}
        run.layers += [state] * len(batches)
        run.draws += [None] * len(batches) if draws is None else list(draws)
        classes = run.model.get_layer("classifier").output.shape[-1]
        logits = np.zeros((len(batches[0]), classes), "float32")
        losses = run.learner.objective(None, np.zeros(len(logits), "int32"), logits)
        return np.full(len(batches), np.mean(losses))

    def evaluate(self, split, check=None):
        run.evaluated.append(len(split))
        return {"loss": 1.0, "error_percent": 50.0}

    constant = loss.Loss(lambda labels, z: 0 * z[:, 0] + 1.5, of_images=False)
    with pytest.MonkeyPatch.context() as patch:
        if shape:  # otherwise real files
            patch.setattr(load, "load", loader(shape, classes=10, images=config.data.name))
        for step in resident.ResidentStep, stream.StreamStep:
            patch.setattr(step, "run", record)
        patch.setattr(Evaluator, "__call__", evaluate)
        patch.setitem(loss.LOSSES, "constant", constant)
        patch.setitem(registry.OUTPUT_ACTIVATION, "constant", "linear")
        run.entry = training.train(config, workdir, compile="off")
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    run.rows = [json.loads(line) for line in lines]
    names = (path.name for path in (workdir / "checkpoints").iterdir())
    run.steps = sorted(int(name[5:14]) for name in names if name.startswith("step-"))
    return run
