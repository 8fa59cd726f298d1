"""Where a run may be stopped: everywhere, and it ends as if it had not been.

The cases are those of Composer's test_resumption, and the evaluations.
"""

import signal

import pytest
import small_stacks

from elu_zoo import errors
from elu_zoo.training import evaluate

# Of a run of two epochs of ten iterations: the iterations since the last stop.
STOPS = {
    "after the first iteration": [1],
    "in the middle of an epoch": [4],
    "at the end of an epoch": [10],
    "after the first iteration of an epoch": [11],
    "before the last iteration": [19],
    "after the last iteration": [20],
    "after a resume": [4, 9],
    "after resumes without end": [1] * 3,
}
ENTRIES = {
    "train.momentum": 0.9,
    "train.learning_rates": (0.005,),
    "train.checkpoint_every": 7,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nobody stops."""
    return tmp_path_factory.mktemp("whole") / "run"


@pytest.fixture
def check_equal(smoke, train, whole, last_arrays, assert_same_bits):
    """Lets a run that was stopped end, and compares it with one that was not."""

    def check(workdir):
        config = smoke(ENTRIES)
        found, expected = train(config, workdir), train(config, whole)
        assert found["sha256"] == expected["sha256"]
        assert found["metrics"] == expected["metrics"]
        assert_same_bits(last_arrays(workdir), last_arrays(whole))
        contents = [(f / "metrics.jsonl").read_bytes() for f in (workdir, whole)]
        assert contents[0] == contents[1]
        assert train(config, workdir) == found  # it is finished

    return check


@pytest.mark.parametrize("where", STOPS)
def test_stopped(smoke, train, tmp_path, stop_after, check_equal, where):
    for since in STOPS[where]:
        stop_after(since, lambda: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(errors.Interrupted, match="SIGTERM after iteration"):
            train(smoke(ENTRIES), tmp_path / "cut", steps_per_call=1)
    check_equal(tmp_path / "cut")


def test_stopped_with_muon(
    phased, train, tmp_path, stop_after, last_arrays, assert_same_bits
):
    config = phased(small_stacks.MUON)
    stop_after(6, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted, match="SIGTERM after iteration"):
        train(config, tmp_path / "cut", steps_per_call=1)
    found, expected = (train(config, tmp_path / name) for name in ("cut", "whole"))
    assert found["sha256"] == expected["sha256"]
    assert_same_bits(last_arrays(tmp_path / "cut"), last_arrays(tmp_path / "whole"))


@pytest.mark.parametrize(
    "part, stood",
    [(4, 10), (7, 20), (12, 20), (17, 20)],
    ids=["first epoch", "second epoch", "the final one", "its end"],
)
def test_stopped_in_an_evaluation(
    smoke, train, tmp_path, monkeypatch, check_equal, part, stood
):
    """Of 500 images after each epoch, of 1,500 at the end; at once, not after it."""
    monkeypatch.setattr(evaluate, "_BATCH_SIZE", 100)
    made, done = evaluate.inference, [0]

    def counted(model):
        forward = made(model)

        def call(images):
            done[0] += 1
            if done[0] == part:
                signal.raise_signal(signal.SIGINT)
            return forward(images)

        return call

    cut = tmp_path / "cut"
    monkeypatch.setattr(evaluate, "inference", counted)
    with pytest.raises(errors.Interrupted, match=f"SIGINT after iteration {stood} of"):
        train(smoke(ENTRIES), cut)
    assert done[0] == part
    assert (cut / "checkpoints" / f"step-{stood:09d}").is_dir()
    assert not (cut / "outcome.json").exists()
    monkeypatch.setattr(evaluate, "inference", made)
    check_equal(cut)
