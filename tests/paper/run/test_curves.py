"""What a finished run's folder says of its way, as rows."""

import json
import math

import numpy as np
import pytest

from elu_zoo.paper.run import curves
from elu_zoo.training import result
from elu_zoo.training.activation_statistics import Statistics

METRICS = {"test_loss": 0.5, "test_error_percent": 12.5, "validation_loss": 0.25}
TEST = {"test_loss": 0.5, "test_error_percent": 12.5}


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """Makes the folder of a run of so many epochs."""

    def make(epochs):
        rows = [{"step": 10 * e, "epoch": e, "train_loss": 1 / e} for e in epochs]
        write_rows(tmp_path / "metrics.jsonl", rows)
        found = {tmp_path: {"metrics": METRICS}}
        monkeypatch.setattr(result, "find", found.get)
        return rows

    return make


def test_epochs(finished, tmp_path):
    """The last one has the measures of the test images as well, and no others."""
    rows = finished(range(1, 4))
    assert curves.epochs(tmp_path) == [*rows[:2], {**rows[2], **TEST}]
    assert curves.final(tmp_path) == TEST


@pytest.mark.parametrize(
    ("count", "after"),
    [
        (49, []),
        (50, []),
        (51, [51]),
        (54, [54]),
        (55, [55]),
        (63, [55, 60, 63]),
        (65, [55, 60, 65]),
    ],
)
def test_epochs_of_a_long_run(finished, tmp_path, count, after):
    """All until 50, then every fifth, and the last."""
    rows = finished(range(1, count + 1))
    found = curves.epochs(tmp_path)
    assert [row["epoch"] for row in found] == [*range(1, min(count, 50) + 1), *after]
    assert found[:-1] == [rows[row["epoch"] - 1] for row in found[:-1]]
    assert found[-1] == {**rows[-1], **TEST}


def test_which_epochs_are_kept():
    assert [e for e in range(203) if curves.is_kept(e, 202)] == [
        *range(51), *range(55, 201, 5), 202
    ]  # fmt: skip


def test_iterations(tmp_path):
    """Means over as many as are asked for, and over those that remain."""
    losses = np.array([4, 2, 3, 3, 2, 1, 1, 0.5], "<f4")
    losses.tofile(tmp_path / "losses.float32")
    assert curves.iterations(tmp_path, 3) == [
        {"step": 3, "train_loss": 3.0},
        {"step": 6, "train_loss": 2.0},
        {"step": 8, "train_loss": 0.75},
    ]
    assert curves.iterations(tmp_path, 4)[-1] == {"step": 8, "train_loss": 1.125}
    assert curves.iterations(tmp_path, 9) == [{"step": 8, "train_loss": 2.0625}]
    assert len(curves.iterations(tmp_path, 1)) == 8


def test_means_are_of_float64(tmp_path):
    losses = np.random.default_rng(0).random(1001, "<f4")
    losses.tofile(tmp_path / "losses.float32")
    (row,) = curves.iterations(tmp_path, 2000)
    expected = math.fsum(losses.tolist()) / 1001
    assert row["train_loss"] == pytest.approx(expected, rel=1e-14)
    assert float(losses.mean()) != pytest.approx(expected, rel=1e-14)


def test_iterations_with_the_rows_of_the_test_images(tmp_path):
    """In the order of steps: at those of means, between them, after the last."""
    np.array([4, 2, 3, 3], "<f4").tofile(tmp_path / "losses.float32")
    tested = [
        {"step": s, "test_loss": s / 8, "measured_loss": s / 4} for s in (2, 3, 7)
    ]
    write_rows(tmp_path / "test.jsonl", tested)
    assert curves.iterations(tmp_path, 2) == [
        {"step": 2, "train_loss": 3.0, "test_loss": 0.25, "measured_loss": 0.5},
        {"step": 3, "test_loss": 0.375, "measured_loss": 0.75},
        {"step": 4, "train_loss": 3.0},
        {"step": 7, "test_loss": 0.875, "measured_loss": 1.75},
    ]


def test_activations(tmp_path):
    folder = tmp_path / "activations"
    folder.mkdir()
    for epoch in (11, 0, 2):
        mean = {"act_dense1": np.float32([epoch, 1]), "act_dense2": np.float32([2])}
        statistics = Statistics(mean, {k: -v for k, v in mean.items()})
        statistics.save(folder / f"epoch-{epoch:05d}.npz")
    (folder / ".epoch-00012.npz.abcdefgh").touch()  # what a kill left
    found = curves.activations(tmp_path)
    assert list(found) == [0, 2, 11]
    for epoch, statistics in found.items():
        assert statistics.names == ("act_dense1", "act_dense2")
        np.testing.assert_array_equal(statistics.mean["act_dense1"], [epoch, 1])
        np.testing.assert_array_equal(statistics.median["act_dense1"], [-epoch, -1])


def test_no_activations(tmp_path):
    assert curves.activations(tmp_path) == {}
