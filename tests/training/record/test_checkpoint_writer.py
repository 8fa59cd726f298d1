"""The thread that writes checkpoints: copies, errors, and its end."""

import contextlib
import json
import threading
import types
from unittest import mock

import keras
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.training.record import checkpoint_writer
from elu_zoo.training.record.checkpoint import Checkpoints
from elu_zoo.training.record.checkpoint_writer import CheckpointWriter


@pytest.fixture
def variable():
    return keras.Variable(np.zeros(1000), name="v")


@pytest.fixture
def checkpoints(tmp_path, variable):
    return Checkpoints(tmp_path, [variable], 3)


@pytest.fixture
def held(checkpoints, monkeypatch):
    """An event until which the writing of checkpoints waits."""
    event, save = threading.Event(), checkpoints.save

    def wait(*arguments):
        assert event.wait(60)
        return save(*arguments)

    monkeypatch.setattr(checkpoints, "save", wait)
    return event


def make_state(step):
    return {"step": step, "identity": {"config": {"seed": step}}}


@pytest.mark.parametrize("fails", [False, True])
def test_a_checkpoint_is_that_of_its_iteration_and_completed_at_the_end(
    tmp_path, checkpoints, variable, held, fails
):
    threads, timer = {*threading.enumerate()}, threading.Timer(0.2, held.set)
    expected = pytest.raises(KeyError) if fails else contextlib.nullcontext()
    with expected, CheckpointWriter(checkpoints, tmp_path / "config.json") as writer:
        writer.begin(make_state(5))
        variable.assign(np.ones(1000))
        assert not (tmp_path / "checkpoints").exists()
        timer.start()
        if fails:
            raise KeyError
    timer.join()
    assert {*threading.enumerate()} <= threads
    assert checkpoints.restore() == make_state(5)
    assert (np.asarray(variable) == 0).all()
    assert json.loads((tmp_path / "config.json").read_text()) == {"seed": 5}


@pytest.mark.parametrize("later", ["join", "begin", "end"])
def test_an_error_of_the_writing_is_raised_later_and_keeps_the_config_file(
    tmp_path, checkpoints, variable, later
):
    variable.assign(np.full(1000, np.nan))
    config = tmp_path / "config.json"
    words = "not finite after iteration 5"
    refused = pytest.raises(errors.TrainingError, match=words)
    with refused, CheckpointWriter(checkpoints, config) as writer:
        writer.begin(make_state(5))
        if later == "join":
            writer.join()
        elif later == "begin":
            writer.begin(make_state(6))
    assert not config.exists()


def test_a_regular_checkpoint_is_due_after_enough_seconds(tmp_path, checkpoints, monkeypatch):
    now = [100.0]
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(checkpoint_writer, "time", clock)
    monkeypatch.setitem(checkpoint_writer.CHECKPOINT_SECONDS, "cpu", 30)
    with CheckpointWriter(checkpoints, tmp_path / "config.json") as writer:
        for seconds, due in ((29, False), (1, True), (29, False), (31, True)):
            now[0] += seconds
            assert writer.is_due() is due
            if due:
                writer.begin(make_state(5))


def test_the_last_checkpoint_is_tried_though_the_one_before_failed(
    tmp_path, checkpoints, monkeypatch
):
    effects = errors.ResourceError("The disk is full."), mock.DEFAULT
    save = mock.Mock(wraps=checkpoints.save, side_effect=effects)
    monkeypatch.setattr(checkpoints, "save", save)
    with CheckpointWriter(checkpoints, tmp_path / "config.json") as writer:
        writer.begin(make_state(5))
        writer.begin(make_state(6), last=True)
    assert checkpoints.restore() == make_state(6)
