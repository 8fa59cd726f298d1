"""The timing experiment runs the benchmark's command and reads the rows."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.benchmark import report
from elu_zoo.pairs import grouping
from elu_zoo.pairs.spec import Plan
from elu_zoo.pairs.store import Points
from elu_zoo.paper.figures import timing

SECONDS = {
    "elu": np.array([1.1, 2.4, 3.0]),
    "relu": np.array([1.0, 2.0, 3.0]),
    "relu, batch norm": np.array([2.0, 4.0, 6.0]),
}


@pytest.fixture
def commands(monkeypatch):
    """Returns the list of commands. Each command writes rows as the benchmark does."""
    received = []

    def run(command, check, **arguments):
        received.append(list(map(str, command)))
        assert check
        path = next(x for x in command if str(x).startswith("--csv="))[6:]
        case = "elu_cifar_11, batch of 100"
        report.update(Path(path), report.timed("unit", case, SECONDS, "relu"))

    monkeypatch.setattr(subprocess, "run", run)
    return received


def plan(budget="short"):
    return Plan(budget, None, Path("runs"))


def test_the_table_has_times_and_ratios(commands, tmp_path):
    points = Points(tmp_path / "rows.csv", timing.EXPERIMENT.columns, ("budget",))
    points.put_all("short", timing.compute(plan()))
    lines = timing.EXPERIMENT.summary(grouping.frame(points.rows)).splitlines()[2:]
    rows = [line.strip("| ").split(" | ")[1:] for line in lines]
    assert rows[0] == ["elu", "3", "2400", "1.100 (1.000 to 1.200)"]
    assert [row[0] for row in rows] == [*SECONDS]
    assert [row[-1].split()[0] for row in rows[1:]] == ["1.000", "2.000"]


@pytest.mark.parametrize(
    ("budget", "flags"),
    [("short", ["--rounds=40"]), ("smoke", ["--rounds=5", "--models=mnist_mlp_8x128"])],
)
def test_the_budget_decides_the_flags_of_the_command(commands, budget, flags):
    timing.compute(plan(budget))
    ((python, _, module, part, csv, *others),) = commands
    assert (python, module) == (sys.executable, "elu_zoo.bin.benchmark")
    assert part == "--parts=unit" and csv.startswith("--csv=")
    assert others == flags
    assert not Path(csv[6:]).exists()  # the file was temporary


@pytest.mark.parametrize(
    "error", [subprocess.CalledProcessError(1, "elu-zoo-benchmark"), FileNotFoundError("none")]
)
def test_a_benchmark_that_fails_raises_an_error(monkeypatch, error):
    def run(*_, **__):
        raise error

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(errors.ResourceError, match="The timing could not be measured: "):
        timing.compute(plan())
