"""`on_row` is given each new row of metrics.jsonl."""

import contextlib
import signal
import types

import pytest

from elu_zoo import errors
from elu_zoo.configs import quickstart
from elu_zoo.training.record import outputs
from elu_zoo.training.record.checkpoint import TrainState
from elu_zoo.training.run import Length

EPOCHS = {"train.epochs": 3, "train.checkpoint_every": 20}  # an epoch has ten iterations


def test_each_row_is_given_once(tmp_path, smoke, train, rows, stop_after, monkeypatch):
    monkeypatch.setattr(outputs.Timer, "lap", lambda timer: 1.0)
    given = []
    stop_after(25, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted):
        train(smoke(EPOCHS), tmp_path, on_row=given.append)
    assert [row["epoch"] for row in given] == [1, 2]
    train(smoke(EPOCHS), tmp_path, on_row=given.append)
    assert given == rows(tmp_path / "metrics.jsonl") and len(given) == 3
    seconds = [row["seconds"] for row in rows(tmp_path / "timing.jsonl") if "seconds" in row]
    assert seconds == [1, 2, 5]  # after checkpoints at 3 and 4
    train(smoke(EPOCHS), tmp_path, on_row=given.append)  # a finished run has no new rows
    assert len(given) == 3


@pytest.mark.parametrize(
    ("raised", "error", "words"),
    [(KeyError, KeyError, "user"), (OSError, errors.TrainingError, "on_row raised.*iteration 20")],
)
def test_an_error_of_on_row_ends_the_run_which_can_be_resumed(
    tmp_path, smoke, train, rows, raised, error, words
):
    def refuse(row):
        if row["epoch"] == 3:
            raise raised("a user's error")

    with pytest.raises(error, match=words):
        train(smoke(EPOCHS), tmp_path / "run", on_row=refuse)
    assert [p.name for p in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-000000020.npz"]
    given = []
    resumed = train(smoke(EPOCHS), tmp_path / "run", on_row=given.append)
    assert [row["epoch"] for row in given] == [3]
    assert resumed["sha256"] == train(smoke(EPOCHS), tmp_path / "whole")["sha256"]
    metrics = [rows(tmp_path / name / "metrics.jsonl") for name in ("run", "whole")]
    assert metrics[0] == metrics[1]


@pytest.mark.parametrize("chief", [False, True])
def test_only_the_chief_is_given_rows(tmp_path, chief):
    given, writer = [], contextlib.nullcontext()
    train = quickstart.get_config().train
    run = types.SimpleNamespace(length=Length(4, 2, 3), preprocessing={}, train=train)
    state = TrainState(step=2)
    with outputs.open_outputs(tmp_path, chief, writer, (), given.append, run, state) as opened:
        opened.end_epoch(state, {"step": 2, "epoch": 1})
    assert given == [{"step": 2, "epoch": 1}] * chief
    assert (tmp_path / "metrics.jsonl").exists() == chief
