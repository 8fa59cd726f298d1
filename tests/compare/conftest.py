"""A comparison, and a function that makes it without training."""

import math
import types

import numpy as np
import pytest

from elu_zoo.compare import comparison as module
from elu_zoo.compare import estimate
from elu_zoo.compare.config import ComparisonConfig
from elu_zoo.compare.result import RunResult
from elu_zoo.configs import quickstart
from elu_zoo.pairs import runner


@pytest.fixture
def comparison(tmp_path):
    """ELU, ReLU and tanh in five pairs, with five learning rates."""
    return ComparisonConfig(
        config=quickstart.get_config(),
        command="elu-zoo-compare --config=quickstart --activations=elu,relu,tanh",
        train_command="elu-zoo-train --config=quickstart",
        activations=("elu", "relu", "tanh"),
        seeds=5,
        tune=5,
        output=tmp_path / "out",
    )


def measured(error: float) -> RunResult:
    """Returns the results of a run, with errors of ten images; NaN stands for a diverged run."""
    if math.isnan(error):
        return RunResult(diverged="The loss is inf.")
    rows = [{"epoch": n, "train_loss": 1 / n, "validation_error_percent": error} for n in (1, 2)]
    images = error + 10 * np.arange(-4.5, 5)
    return RunResult(error, 0.5, tuple(rows), "", "AB"[error > 6], images)


@pytest.fixture
def compare(monkeypatch, quick_figures):
    """A function of a comparison and the error of a spec; returns trained specs and messages."""

    def run(comparison, error):
        world = types.SimpleNamespace(trained=[], messages=[])

        def train(trials, plan, measure, jobs):
            for trial in trials:
                world.trained.append(trial)
                found = measured(error(trial))
                yield trial, found.diverged or [found]

        costs = [estimate.Cost(name, 1, 10, 1.5) for name in comparison.activations]
        monkeypatch.setattr(estimate, "measure", lambda *_: costs)
        monkeypatch.setattr(runner, "run", train)
        module.compare(comparison, 2, world.messages.append)
        return world

    return run
