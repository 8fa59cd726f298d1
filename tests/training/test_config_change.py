"""`allow_config_change` continues a run with another config, and records the change."""

import json
import signal

import pytest

from elu_zoo import errors
from elu_zoo.training.config import resolve
from elu_zoo.training.record import resuming, signals
from elu_zoo.training.record.checkpoint import TrainState
from elu_zoo.training.run import Length

LONGER = {"train.epochs": 3, "train.learning_rates": (0.02,)}
RATE = r"train.learning_rates: \[0.05\] -> \[0.02\]"
CHANGES = "train.epochs: 2 -> 3; train.learning_rates: [0.05] -> [0.02]"


@pytest.fixture
def stopped(smoke, train, tmp_path, stop_after):
    """The folder of a run that was stopped after iteration 14 of 20."""
    stop_after(14, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted):
        train(smoke(), tmp_path, steps_per_call=1)
    return tmp_path


def read_config(workdir):
    return json.loads((workdir / "config.json").read_text())


def test_stopped_and_finished_runs_continue_after_a_change(smoke, train, stopped, rows):
    entry = train(smoke(LONGER), stopped, allow_config_change=True)
    assert entry["config_changes"] == [f"after iteration 14: {CHANGES}"]
    assert entry["step"] == 30 and len(rows(stopped / "metrics.jsonl")) == 3
    assert entry["config"] == read_config(stopped) == resolve(smoke(LONGER)).values
    # From now on the folder belongs to the changed config.
    assert train(smoke(LONGER), stopped) == entry
    with pytest.raises(errors.UsageError, match="train.epochs: 3 -> 2"):
        train(smoke(), stopped)

    before = rows(stopped / "metrics.jsonl")
    longer = smoke({**LONGER, "train.epochs": 4})
    continued = train(longer, stopped, allow_config_change=True)
    changes = [*entry["config_changes"], "after iteration 30: train.epochs: 3 -> 4"]
    assert continued["config_changes"] == changes
    assert rows(stopped / "metrics.jsonl")[:3] == before
    assert (stopped / f"{entry['tag']}.weights.h5").is_file()


def test_a_stop_at_the_end_keeps_the_old_config(smoke, train, tmp_path, monkeypatch):
    first = train(smoke(), tmp_path)
    changed = smoke({"train.checkpoint_every": 7})
    with monkeypatch.context() as patch, pytest.raises(errors.Interrupted):
        patch.setattr(signals.Stop, "poll_signal", stop)
        train(changed, tmp_path, allow_config_change=True)
    assert train(smoke(), tmp_path) == first
    with pytest.raises(errors.UsageError, match="checkpoint_every"):
        train(changed, tmp_path)
    entry = train(changed, tmp_path, allow_config_change=True)
    assert entry["config_changes"] and train(changed, tmp_path) == entry


def stop(_):
    raise signals.Stopped


def test_a_checkpoint_of_the_old_config_needs_the_flag_again(smoke, train, tmp_path):
    """The newest checkpoint, which has the new config, is damaged."""
    train(smoke(), tmp_path)
    train(smoke(LONGER), tmp_path, allow_config_change=True)
    (tmp_path / "outcome.json").unlink()
    newest = tmp_path / "checkpoints" / f"step-{30:09d}.npz"
    newest.write_bytes(b"")
    with pytest.raises(errors.UsageError, match=f"another config: .*{RATE}.*allow_con"):
        train(smoke(LONGER), tmp_path)
    entry = train(smoke(LONGER), tmp_path, allow_config_change=True)
    assert entry["config_changes"] == [f"after iteration 20: {CHANGES}"]


def test_a_run_that_is_already_too_long_is_refused(smoke, train, stopped):
    before = (stopped / "config.json").read_bytes()
    with pytest.raises(errors.UsageError, match="finished 14 iterations"):
        train(smoke({"train.epochs": 1}), stopped, allow_config_change=True)
    assert (stopped / "config.json").read_bytes() == before
    assert train(smoke(), stopped)["step"] == 20


def test_a_run_resumes_only_with_its_batches_and_before_a_new_end(tmp_path, monkeypatch):
    saved = {"identity": {}, "batch_size": 3, "step": 40}
    # Its last epoch was not evaluated as such; few images get other batches for more epochs.
    for length, change in ((Length(60, 3, 2), "3 -> 2"), (Length(60, 2, 9), "2 -> 9")):
        monkeypatch.setattr(resuming, "compare", lambda *_, x=change: [f"train.epochs: {x}"])
        with pytest.raises(errors.UsageError, match="40 iterations of 3 images"):
            TrainState.resume(saved, resuming.RunIdentity(), tmp_path, length, True)
