"""Questions, and stand-ins for their runs."""

import dataclasses
import math

import pytest

from elu_zoo.compare import comparison, estimate
from elu_zoo.compare.question import Question
from elu_zoo.compare.spec import Measured
from elu_zoo.configs import quickstart
from elu_zoo.paper.run import runner


@pytest.fixture
def question(tmp_path):
    """ELU, ReLU and tanh in five pairs, with five learning rates."""
    return Question(
        config=quickstart.get_config(),
        command="elu-zoo-compare --config=quickstart --activations=elu,relu,tanh",
        train_command="elu-zoo-train --config=quickstart",
        activations=("elu", "relu", "tanh"),
        seeds=5,
        tune=5,
        output=tmp_path / "out",
    )


def measured(error: float) -> Measured:
    """Returns results of a run with this error; of a diverged run for NaN."""
    if math.isnan(error):
        return Measured(diverged="The loss is inf.")
    rows = [
        {"epoch": epoch, "train_loss": 1 / epoch, "validation_error_percent": error}
        for epoch in (1, 2)
    ]
    return Measured(error, 0.5, tuple(rows))


@dataclasses.dataclass
class World:
    """Runs that train nothing: their errors, and which were made."""

    error: object
    made: list = dataclasses.field(default_factory=list)
    said: list = dataclasses.field(default_factory=list)

    def run(self, trials, plan, measure, jobs, per_process):
        for trial in trials:
            self.made.append(trial)
            found = measured(self.error(trial))
            yield trial, found.diverged or [found]


@pytest.fixture
def compare(monkeypatch):
    """Compares with stand-ins: takes a question and the error of a spec."""

    def costs(specs, plan, jobs, path):
        return [estimate.Cost(x.activation, 1, 1, 1, 10, 1, 1.5) for x in specs]

    def run(question, error) -> World:
        world = World(error)
        monkeypatch.setattr(estimate, "measure", costs)
        monkeypatch.setattr(runner, "run", world.run)
        comparison.compare(question, 2, world.said.append)
        return world

    return run
