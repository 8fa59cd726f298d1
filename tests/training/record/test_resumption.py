"""Runs that are stopped by a signal and resumed end bit-identically.

Except in evaluations, the stops are at the moments that the library Composer tests.
"""

import itertools
import signal

import pytest
import small_stacks

from elu_zoo import errors
from elu_zoo.evaluation import evaluator

# Runs have two epochs of ten iterations. A list has the numbers of iterations from the
# start, or from a stop, to the next stop.
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
def unstopped(tmp_path_factory):
    """The folder of a run that is not stopped."""
    return tmp_path_factory.mktemp("unstopped") / "run"


@pytest.fixture
def check_equal(smoke, train, unstopped, last_arrays, assert_same_bits):
    """A function that resumes a stopped run and compares it with `unstopped`."""

    def check(workdir):
        config = smoke(ENTRIES)
        resumed, expected = train(config, workdir), train(config, unstopped)
        assert resumed["sha256"] == expected["sha256"]
        assert resumed["metrics"] == expected["metrics"]
        assert_same_bits(last_arrays(workdir), last_arrays(unstopped))
        contents = [(f / "metrics.jsonl").read_bytes() for f in (workdir, unstopped)]
        assert contents[0] == contents[1]

    return check


@pytest.mark.parametrize("moment", STOPS)
def test_a_stopped_run_equals_a_run_without_stops(
    smoke, train, tmp_path, stop_after, check_equal, moment
):
    for iterations in STOPS[moment]:
        stop_after(iterations, lambda: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(errors.Interrupted, match="SIGTERM after iteration"):
            train(smoke(ENTRIES), tmp_path / "cut", steps_per_call=1)
    check_equal(tmp_path / "cut")


@pytest.fixture
def stop_and_compare(train, tmp_path, stop_after, last_arrays, assert_same_bits, rows):
    """A function that compares a stopped and resumed run with a run without stops."""

    def check(config, stops, **arguments):
        cut, unstopped = tmp_path / "cut", tmp_path / "unstopped"
        for iterations in stops:
            stop_after(iterations, lambda: signal.raise_signal(signal.SIGTERM))
            with pytest.raises(errors.Interrupted, match="same command resumes"):
                train(config, cut, steps_per_call=1, **arguments)
        resumed, expected = (train(config, folder, **arguments) for folder in (cut, unstopped))
        assert resumed["sha256"] == expected["sha256"]
        assert resumed["metrics"] == expected["metrics"]
        assert_same_bits(last_arrays(cut), last_arrays(unstopped))
        assert rows(cut / "metrics.jsonl") == rows(unstopped / "metrics.jsonl")
        starts = [r["step"] for r in rows(cut / "timing.jsonl") if "strategy" in r]
        assert starts == [0, *itertools.accumulate(stops)]

    return check


# Numbers of iterations from stop to stop. The stops are inside the first phase, at the
# end of the first phase, and inside the other phases.
IN_EACH_PHASE = [3, 2, 2, 6]


@pytest.mark.parametrize(
    ("entries", "stops", "arguments"),
    [
        ({}, IN_EACH_PHASE, {}),
        (small_stacks.MUON, [6], {}),
        pytest.param({}, [6], {"compile": "on"}, marks=pytest.mark.slow),
        pytest.param({}, [6], {"strategy": "mirrored", "num_devices": 2}, marks=pytest.mark.slow),
    ],
    ids=["each phase", "muon", "compiled", "two devices"],
)
def test_a_stopped_run_in_phases_equals_a_run_without_stops(
    phased, stop_and_compare, entries, stops, arguments
):
    stop_and_compare(phased(entries), stops, **arguments)


@pytest.mark.parametrize(
    ("entries", "arguments"),
    [
        ({**AUTOENCODER, "train.precision": "mixed_bfloat16"}, {}),
        ({"model.batch_norm": True, "model.activation.name": "rrelu"}, {}),
        pytest.param({}, {"compile": "on"}, marks=pytest.mark.slow),
        pytest.param(
            {"train.precision": "mixed_bfloat16"}, {"compile": "on"}, marks=pytest.mark.slow
        ),
    ],
    ids=["autoencoder", "random states", "compiled", "compiled bfloat16"],
)
def test_stopped_runs_of_other_kinds_equal_runs_without_stops(
    smoke, stop_and_compare, entries, arguments
):
    stop_and_compare(smoke(entries), [14], **arguments)


# The signal comes in evaluated batch number `batch`, counted from 1 over the run. A
# batch has 100 images. Each epoch ends with 5 batches, and the run with 15 more.
@pytest.mark.parametrize("batch, reached", [(4, 10), (12, 20)], ids=["of an epoch", "at the end"])
def test_a_run_stopped_in_an_evaluation_equals_a_run_without_stops(
    smoke, train, tmp_path, monkeypatch, check_equal, batch, reached
):
    monkeypatch.setattr(evaluator, "_BATCH_SIZE", 100)
    original, done = evaluator.inference, [0]

    def counted(model):
        forward = original(model)

        def call(images):
            done[0] += 1
            if done[0] == batch:
                signal.raise_signal(signal.SIGINT)
            return forward(images)

        return call

    cut = tmp_path / "cut"
    monkeypatch.setattr(evaluator, "inference", counted)
    with pytest.raises(errors.Interrupted, match=f"SIGINT after iteration {reached} of"):
        train(smoke(ENTRIES), cut)
    assert done[0] == batch
    assert (cut / "checkpoints" / f"step-{reached:09d}.npz").is_file()
    assert not (cut / "outcome.json").exists()
    monkeypatch.setattr(evaluator, "inference", original)
    check_equal(cut)
