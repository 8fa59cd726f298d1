"""The curves of a finished run are read by epoch and by iteration."""

import json

import numpy as np
import pytest

from elu_zoo.pairs import curves
from elu_zoo.training import result

TEST = {"test_loss": 0.5, "test_error_percent": 12.5}


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(("count", "after_50"), [(3, []), (50, []), (54, [54]), (63, [55, 60, 63])])
def test_epochs_are_thinned_and_the_last_has_test_measures(monkeypatch, tmp_path, count, after_50):
    entries = {tmp_path: {"metrics": {**TEST, "validation_loss": 0.25}}}
    monkeypatch.setattr(result, "find", entries.get)
    epochs = range(1, count + 1)
    rows = [{"step": 10 * e, "epoch": e, "train_loss": 1 / e} for e in epochs]
    write_rows(tmp_path / "metrics.jsonl", rows)
    shown = [*range(1, min(count, 50) + 1), *after_50]
    expected = [rows[epoch - 1] for epoch in shown]
    expected[-1] = {**expected[-1], **TEST}
    assert curves.epochs(tmp_path) == expected
    assert curves.final(tmp_path) == TEST


def test_losses_are_means_over_iterations(tmp_path):
    losses = np.array([4, 2, 3, 3, 2, 1, 1, 0.5], "<f4")
    losses.tofile(tmp_path / "losses.float32")
    assert curves.iterations(tmp_path, 3) == [
        {"step": 3, "train_loss": 3.0},
        {"step": 6, "train_loss": 2.0},
        {"step": 8, "train_loss": 0.75},
    ]
    assert curves.iterations(tmp_path, 9) == [{"step": 8, "train_loss": 2.0625}]


def test_losses_and_test_rows_are_merged_in_the_order_of_steps(tmp_path):
    np.array([4, 2, 3, 3], "<f4").tofile(tmp_path / "losses.float32")
    tested = [{"step": s, "test_loss": s / 8, "measured_loss": s / 4} for s in (2, 3, 7)]
    write_rows(tmp_path / "test.jsonl", tested)
    assert curves.iterations(tmp_path, 2) == [
        {"step": 2, "train_loss": 3.0, "test_loss": 0.25, "measured_loss": 0.5},
        {"step": 3, "test_loss": 0.375, "measured_loss": 0.75},
        {"step": 4, "train_loss": 3.0},
        {"step": 7, "test_loss": 0.875, "measured_loss": 1.75},
    ]
