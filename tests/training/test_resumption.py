"""Runs that are stopped anywhere and resumed: they end bit-identically.

The cases are those of Composer's test_resumption, and evaluations.
"""

import itertools
import signal

import pytest
import small_stacks

from elu_zoo import errors
from elu_zoo.training import evaluate

# Runs of two epochs of ten iterations: the iterations from stop to stop.
STOPS = {
    "in the middle of an epoch": [4],
    "at the end of an epoch": [10],
    "after the last iteration": [20],
    "after a resume": [1, 12],
}
ENTRIES = {
    "train.momentum": 0.9,
    "train.learning_rates": (0.005,),
    "train.checkpoint_every": 7,
}


AUTOENCODER = {
    "model.name": "mnist_autoencoder",
    "model.width": 0.05,
    "train.loss": "sigmoid_cross_entropy",
    "train.learning_rates": (0.001,),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that is not stopped."""
    return tmp_path_factory.mktemp("whole") / "run"


@pytest.fixture
def check_equal(smoke, train, whole, last_arrays, assert_same_bits):
    """Resumes a stopped run, and compares it with `whole`."""

    def check(workdir):
        config = smoke(ENTRIES)
        found, expected = train(config, workdir), train(config, whole)
        assert found["sha256"] == expected["sha256"]
        assert found["metrics"] == expected["metrics"]
        assert_same_bits(last_arrays(workdir), last_arrays(whole))
        contents = [(f / "metrics.jsonl").read_bytes() for f in (workdir, whole)]
        assert contents[0] == contents[1]

    return check


@pytest.mark.parametrize("where", STOPS)
def test_stopped(smoke, train, tmp_path, stop_after, check_equal, where):
    for since in STOPS[where]:
        stop_after(since, lambda: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(errors.Interrupted, match="SIGTERM after iteration"):
            train(smoke(ENTRIES), tmp_path / "cut", steps_per_call=1)
    check_equal(tmp_path / "cut")


@pytest.fixture
def stop_and_compare(train, tmp_path, stop_after, last_arrays, assert_same_bits, rows):
    """Stops a run, resumes it, and compares it with a run that is not stopped."""

    def check(config, stops, **arguments):
        cut, whole = tmp_path / "cut", tmp_path / "whole"
        for since in stops:
            stop_after(since, lambda: signal.raise_signal(signal.SIGTERM))
            with pytest.raises(errors.Interrupted, match="Run the same command"):
                train(config, cut, steps_per_call=1, **arguments)
        found, expected = (
            train(config, folder, **arguments) for folder in (cut, whole)
        )
        assert found["sha256"] == expected["sha256"]
        assert found["metrics"] == expected["metrics"]
        assert_same_bits(last_arrays(cut), last_arrays(whole))
        assert rows(cut / "metrics.jsonl") == rows(whole / "metrics.jsonl")
        starts = [r["step"] for r in rows(cut / "timing.jsonl") if "strategy" in r]
        assert starts == [0, *itertools.accumulate(stops)]

    return check


# Iterations from stop to stop: inside the first phase, at its end, and inside others.
IN_EACH_PHASE = [3, 2, 2, 6]


@pytest.mark.parametrize(
    ("entries", "stops", "arguments"),
    [
        ({}, IN_EACH_PHASE, {}),
        (small_stacks.MUON, [6], {}),
        pytest.param({}, [6], {"compile": "on"}, marks=pytest.mark.slow),
        pytest.param(
            *({}, [6], {"strategy": "mirrored", "num_devices": 2}),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["each phase", "muon", "compiled", "two devices"],
)
def test_stopped_in_phases(phased, stop_and_compare, entries, stops, arguments):
    stop_and_compare(phased(entries), stops, **arguments)


@pytest.mark.parametrize(
    ("entries", "arguments"),
    [
        ({**AUTOENCODER, "train.precision": "mixed_bfloat16"}, {}),
        ({"model.batch_norm": True, "model.activation.name": "rrelu"}, {}),
        pytest.param({}, {"compile": "on"}, marks=pytest.mark.slow),
        pytest.param(
            *({"train.precision": "mixed_bfloat16"}, {"compile": "on"}),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["autoencoder", "random states", "compiled", "compiled bfloat16"],
)
def test_stopped_runs_of_other_kinds(smoke, stop_and_compare, entries, arguments):
    stop_and_compare(smoke(entries), [14], **arguments)


@pytest.mark.parametrize(
    "part, stood", [(4, 10), (12, 20)], ids=["of an epoch", "at the end"]
)
def test_stopped_in_an_evaluation(
    smoke, train, tmp_path, monkeypatch, check_equal, part, stood
):
    """It stops between batches: 500 images per epoch, and 1,500 at the end."""
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
