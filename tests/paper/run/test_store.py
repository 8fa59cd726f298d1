"""Points as a CSV file: whose rows stay, whose go, and in which order."""

import dataclasses

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.paper.run.spec import Trial
from elu_zoo.paper.run.store import KEY, Points
from elu_zoo.training.recorder import Observe

TRIAL = Trial("mnist_mlp_8x128", "", "short", "elu", 0)
COLUMNS = "epoch", "loss"


def of(**changes):
    return dataclasses.replace(TRIAL, **changes)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "figures" / "fig.csv"


@pytest.fixture
def points(path):
    return Points(path, COLUMNS)


def test_a_file_that_is_not_there(points, path):
    assert points.rows == [] and points.of_budget("short") == []
    assert not points.has(TRIAL) and not path.exists()


def test_an_empty_file(path):
    path.parent.mkdir()
    path.touch()
    points = Points(path, COLUMNS)
    assert points.rows == [] and not points.has(TRIAL)


def test_a_file_of_another_version(points, path):
    points.put(TRIAL, [{"epoch": 1, "loss": 1.0}])
    for columns in ("epoch",), (*COLUMNS, "time"):
        with pytest.raises(
            errors.DataError, match="other columns .* epoch, loss. Move"
        ):
            Points(path, columns).check()
    Points(path, COLUMNS[::-1]).check()


def test_what_is_put_is_in_the_file(points, path):
    points.put(TRIAL, [{"epoch": 1, "loss": 0.1234567891}, {"epoch": 2}])
    assert points.has(TRIAL)
    assert path.read_text().splitlines() == [
        ",".join((*KEY, *COLUMNS)),
        f"short,elu,False,,0,300,{TRIAL.arm_hash},1,0.123457",
        f"short,elu,False,,0,300,{TRIAL.arm_hash},2,",
    ]
    again = Points(path, COLUMNS)
    assert again.rows == points.rows and again.has(TRIAL)


def test_what_is_no_column_is_left_out(points):
    points.put(TRIAL, [{"epoch": 1, "loss": np.float64(2), "wall_time": 3}])
    (row,) = points.rows
    assert row == TRIAL.key | {"epoch": "1", "loss": "2"}


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": "full"},
        {"activation": "relu"},
        {"batch_norm": True},
        {"variant": "lr 1"},
        {"seed": 1},
    ],
)
def test_rows_of_other_runs_stay(points, changes):
    points.put(TRIAL, [{"loss": 1.0}])
    assert not points.has(of(**changes))
    points.put(of(**changes), [{"loss": 2.0}])
    assert points.has(TRIAL) and points.has(of(**changes))
    assert sorted(row["loss"] for row in points.rows) == ["1", "2"]


@pytest.mark.parametrize(
    "changes",
    [
        {"changes": (("train.epochs", 3),)},
        {"observe": Observe(losses=True)},
        {"config": "mnist_mlp_5x256"},
    ],
)
def test_an_arm_is_of_one_config(points, path, changes):
    """And measured in one way: its other seeds are of a run that is no more."""
    others = of(activation="relu"), of(variant="lr 1"), of(budget="full")
    for trial in (TRIAL, of(seed=1), *others):
        points.put(trial, [{"epoch": i, "loss": 1.0} for i in range(3)])
    changed = of(**changes)
    assert not points.has(changed)
    points.put(changed, [{"epoch": 0, "loss": 2.0}])
    assert points.has(changed) and all(map(points.has, others))
    assert not points.has(TRIAL) and not points.has(of(seed=1))
    points.put(of(**changes, seed=1), [{"epoch": 0, "loss": 3.0}])
    rows = [row for row in Points(path, COLUMNS).rows if row["loss"] != "1"]
    assert [(row["seed"], row["loss"]) for row in rows] == [("0", "2"), ("1", "3")]
    assert len(points.rows) == 2 + 3 * len(others)


def test_the_same_run_twice_is_there_once(points):
    for loss in (1.0, 2.0):
        points.put(TRIAL, [{"loss": loss}])
    assert [row["loss"] for row in points.rows] == ["2"]


def test_order(points, path):
    """Of the file: it does not depend on which run ends first."""
    trials = [
        *(of(seed=seed) for seed in (0, 2, 10)),
        of(activation="relu"),
        of(variant="lr 1"),
        of(batch_norm=True),
        of(budget="full"),
    ]
    for trial in reversed(trials):
        points.put(trial, [{"epoch": epoch} for epoch in (9, 10, 1)])
    assert points.rows == Points(path, COLUMNS).rows
    found = [(row["arm"], row["seed"], row["epoch"]) for row in points.rows]
    # Rows of a run stay in the run's order.
    assert found == [
        (t.arm_hash, str(t.seed), epoch) for t in trials for epoch in ("9", "10", "1")
    ]
    assert [row["budget"] for row in points.rows] == ["short"] * 18 + ["full"] * 3


def test_rows_of_a_budget(points):
    for budget in "short", "full":
        points.put(of(budget=budget), [{"loss": 1.0}, {"loss": 2.0}])
    found = points.of_budget("short")
    assert [(r["budget"], r["loss"]) for r in found] == [("short", "1"), ("short", "2")]
    assert points.of_budget("smoke") == []


def test_rows_without_runs(path):
    points = Points(path, COLUMNS, ("budget",))
    points.put_all("short", [{"epoch": 2, "loss": 1.0}, {"epoch": 1}])
    points.put_all("smoke", [{"epoch": 3}])
    points.put_all("short", [{"epoch": 4}])
    assert Points(path, COLUMNS, ("budget",)).rows == [
        {"budget": "smoke", "epoch": "3", "loss": ""},
        {"budget": "short", "epoch": "4", "loss": ""},
    ]
    assert points.of_budget("short") == points.rows[1:]
