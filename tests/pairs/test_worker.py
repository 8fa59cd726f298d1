"""Workers train and measure a run, or return the reason why the run diverged."""

import json

import pytest
from processes import DIVERGING, ELU, OWN

from elu_zoo import errors, training
from elu_zoo.pairs import worker
from elu_zoo.pairs.spec import Plan


@pytest.fixture
def trained(monkeypatch):
    """Replaces `training.train`; returns its calls, which raise the `error` if set."""

    class Trained(list):
        error = None

        def train(self, config, workdir, **arguments):
            self.append(arguments)
            workdir.mkdir(parents=True, exist_ok=True)
            if self.error:
                raise self.error

    calls = Trained()
    monkeypatch.setattr(worker, "_stopped", [])
    monkeypatch.setattr(training, "train", calls.train)
    return calls


@pytest.fixture
def plan(tmp_path):
    return Plan("smoke", None, tmp_path / "runs", data_dir="prepared")


def measure(trial, workdir, plan):
    return [{"workdir": workdir}]


def unmeasured(*_):
    raise AssertionError("the run was measured")


def test_a_run_that_diverges_is_not_trained_again(trained, plan):
    trained.error = errors.TrainingError("The loss is nan.")
    assert worker.perform(DIVERGING, plan, unmeasured) == "The loss is nan."
    path = DIVERGING.folder(plan) / "diverged.json"
    assert json.loads(path.read_text()) == {"reason": "The loss is nan."}

    trained.error = None
    assert worker.perform(DIVERGING, plan, unmeasured) == "The loss is nan."
    assert len(trained) == 1
    assert worker.perform(ELU, plan, measure)  # a run of another config is trained
    assert len(trained) == 2


@pytest.mark.parametrize("error", [errors.DataError, MemoryError])
def test_other_errors_are_raised_and_not_remembered(trained, plan, error):
    trained.error = error("none")
    with pytest.raises(error):
        worker.perform(ELU, plan, unmeasured)
    assert not (ELU.folder(plan) / "diverged.json").exists()
    trained.error = None
    assert worker.perform(ELU, plan, measure) == [{"workdir": ELU.folder(plan)}]
    assert trained[-1] == {
        "data_dir": "prepared",
        "observers": ELU.observers,
        "command": ELU.command,
    }


def test_no_other_run_starts_after_a_signal(trained, plan):
    trained.error = errors.Interrupted("SIGTERM after iteration 7: saved.")
    for trial in (ELU, OWN):
        with pytest.raises(errors.Interrupted, match="iteration 7: saved"):
            worker.perform(trial, plan, unmeasured)
        trained.error = None
    assert len(trained) == 1 and not OWN.folder(plan).exists()
