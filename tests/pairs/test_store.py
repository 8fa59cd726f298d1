"""Results stores replace the rows of a repeated run, and keep all other rows."""

import dataclasses

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.pairs.spec import Trial
from elu_zoo.pairs.store import KEY, Points
from elu_zoo.training.record import observers

TRIAL = Trial("mnist_mlp_8x128", "", "short", "elu", 0)
COLUMNS = "epoch", "loss"


def changed(**changes):
    return dataclasses.replace(TRIAL, **changes)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "figures" / "fig.csv"


@pytest.fixture
def points(path):
    return Points(path, COLUMNS)


def test_a_missing_or_empty_file_has_no_rows(points, path):
    assert points.rows == [] and not path.exists()
    path.parent.mkdir()
    path.touch()
    assert Points(path, COLUMNS).rows == []


def test_a_file_with_other_columns_raises_an_error(points, path):
    points.put(TRIAL, [{"epoch": 1, "loss": 1.0}])
    for columns in ("epoch",), (*COLUMNS, "time"):
        with pytest.raises(errors.DataError, match="other columns .* epoch, loss. Move"):
            Points(path, columns).check()
    Points(path, COLUMNS[::-1]).check()


def test_rows_are_written_to_the_file(points, path):
    rows = {"epoch": 1, "loss": np.float64(0.1234567891), "wall_time": 3}, {"epoch": 2}
    points.put(TRIAL, rows)
    assert points.has(TRIAL)
    assert path.read_text().splitlines() == [
        ",".join((*KEY, *COLUMNS)),
        f"short,elu,False,,0,300,{TRIAL.arm_hash},1,0.123457",
        f"short,elu,False,,0,300,{TRIAL.arm_hash},2,",
    ]
    assert Points(path, COLUMNS).rows == points.rows
    Points(path, COLUMNS).put(changed(seed=1), [{"epoch": 1}])  # another process
    points.put(changed(seed=2), [{"epoch": 1}])
    assert [row["seed"] for row in Points(path, COLUMNS).rows] == ["0", "0", "1", "2"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("budget", "full"), ("activation", "relu"), ("batch_norm", True), ("seed", 1)],
)
def test_rows_of_other_runs_are_kept(points, field, value):
    other = changed(**{field: value})
    points.put(TRIAL, [{"loss": 0.0}])
    assert not points.has(other)
    points.put(other, [{"loss": 2.0}])
    points.put(TRIAL, [{"loss": 1.0}])  # replaces the run's old row
    assert points.has(TRIAL) and points.has(other)
    assert sorted(row["loss"] for row in points.rows) == ["1", "2"]


@pytest.mark.parametrize(
    "changes", [{"changes": (("train.epochs", 3),)}, {"observers": (observers.Losses(),)}]
)
def test_another_config_replaces_all_seeds(points, path, changes):
    others = changed(activation="relu"), changed(variant="lr 1"), changed(budget="full")
    for trial in (TRIAL, changed(seed=1), *others):
        points.put(trial, [{"epoch": i, "loss": 1.0} for i in range(3)])
    points.put(changed(**changes), [{"epoch": 0, "loss": 2.0}])
    assert points.has(changed(**changes)) and all(map(points.has, others))
    assert not points.has(TRIAL) and not points.has(changed(seed=1))
    points.put(changed(**changes, seed=1), [{"epoch": 0, "loss": 3.0}])
    rows = [row for row in Points(path, COLUMNS).rows if row["loss"] != "1"]
    assert [(row["seed"], row["loss"]) for row in rows] == [("0", "2"), ("1", "3")]
    assert len(points.rows) == 2 + 3 * len(others)


def test_the_order_does_not_depend_on_which_run_ends_first(points, path):
    trials = [
        *(changed(seed=seed) for seed in (0, 2, 10)),
        changed(activation="relu"),
        changed(variant="lr 1"),
        changed(batch_norm=True),
        changed(budget="full"),
    ]
    for trial in reversed(trials):
        points.put(trial, [{"epoch": epoch} for epoch in (9, 10, 1)])
    assert points.rows == Points(path, COLUMNS).rows
    order = [(row["arm"], row["seed"], row["epoch"]) for row in points.rows]
    # Rows of one run stay in the order in which they were measured.
    assert order == [(t.arm_hash, str(t.seed), epoch) for t in trials for epoch in ("9", "10", "1")]
    assert points.of_budget("full") == points.rows[-3:]


def test_computed_rows_replace_old_rows_of_the_budget(path):
    points = Points(path, COLUMNS, ("budget",))
    points.put_all("short", [{"epoch": 2, "loss": 1.0}, {"epoch": 1}])
    points.put_all("smoke", [{"epoch": 3}])
    points.put_all("short", [{"epoch": 4}])
    assert Points(path, COLUMNS, ("budget",)).rows == [
        {"budget": "smoke", "epoch": "3", "loss": ""},
        {"budget": "short", "epoch": "4", "loss": ""},
    ]
    assert points.of_budget("short") == points.rows[1:]
