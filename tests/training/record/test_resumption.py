"""Runs that are stopped by a signal and resumed end bit-identically.

Except in evaluations, the stops are at the moments that the library Composer tests.
"""

import itertools
import signal

import pytest
import small_stacks

from elu_zoo import errors

# Runs on digits have two epochs of ten iterations.
ENTRIES = {"train.momentum": 0.9, "train.learning_rates": (0.005,), "train.checkpoint_every": 7}
AUTOENCODER = {
    "model.name": "mnist_autoencoder",
    "model.width": 0.05,
    "train.loss": "sigmoid_cross_entropy",
    "train.learning_rates": (0.0001,),
}
BFLOAT16 = {"train.precision": "mixed_bfloat16"}
IN_EACH_PHASE = [3, 2, 2, 6]  # in the first phase, at its end, and in the other phases
COMPILED = {"compile": "on"}
TWO_DEVICES = {"strategy": "mirrored", "num_devices": 2}


@pytest.fixture(scope="module")
def unstopped(tmp_path_factory):
    """The folder with runs that are not stopped, by the name of a config."""
    return tmp_path_factory.mktemp("unstopped")


@pytest.fixture
def check_equal(train, unstopped, last_arrays, assert_same_bits, rows):
    """A function that resumes a stopped run and compares it with a run without stops."""

    def check(config, workdir, name, **arguments):
        folders = workdir, unstopped / name
        resumed, expected = (train(config, folder, **arguments) for folder in folders)
        assert resumed["sha256"] == expected["sha256"]
        assert resumed["metrics"] == expected["metrics"]
        assert_same_bits(*map(last_arrays, folders))
        contents = [(folder / "metrics.jsonl").read_bytes() for folder in folders]
        assert contents[0] == contents[1]
        return [r["step"] for r in rows(workdir / "timing.jsonl") if "strategy" in r]

    return check


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "entries", "stops", "arguments"),  # iterations from stop to stop
    [
        ("digits", {}, [10], {}),
        ("digits", {}, [20], {}),
        ("digits", {}, [1, 12], {}),
        slow("autoencoder", {**AUTOENCODER, **BFLOAT16}, [14], {}),
        slow("random", {"model.batch_norm": True, "model.activation.name": "rrelu"}, [14], {}),
        slow("compiled", {}, [14], COMPILED),
        slow("compiled bfloat16", BFLOAT16, [14], COMPILED),
        slow("phased", {}, [6], {}),
        slow("phased", {}, IN_EACH_PHASE, {}),
        slow("phased muon", small_stacks.MUON, [6], {}),
        slow("phased compiled", {}, [6], COMPILED),
        slow("phased two devices", {}, [6], TWO_DEVICES),
    ],
)
def test_a_stopped_run_equals_a_run_without_stops(
    smoke, phased, train, tmp_path, stop_after, check_equal, name, entries, stops, arguments
):
    config = phased(entries) if "phased" in name else smoke({**ENTRIES, **entries})
    for iterations in stops:
        stop_after(iterations, lambda: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(errors.Interrupted, match="SIGTERM after iteration .* resumes"):
            train(config, tmp_path, steps_per_call=1, **arguments)
    starts = check_equal(config, tmp_path, name, **arguments)
    assert starts == [0, *itertools.accumulate(stops)]


# The signal comes in evaluated batch number `batch`, counted from 1 over the run. A
# batch has 100 images. Each epoch ends with 5 batches, and the run with 15 more.
@pytest.mark.parametrize("batch, reached", [(4, 10), (12, 20)], ids=["of an epoch", "at the end"])
def test_a_run_stopped_in_an_evaluation_equals_a_run_without_stops(
    smoke, train, tmp_path, signal_at, check_equal, batch, reached
):
    done = signal_at(batch, 100)
    with pytest.raises(errors.Interrupted, match=f"SIGINT after iteration {reached} of"):
        train(smoke(ENTRIES), tmp_path)
    assert done[0] == batch and not (tmp_path / "outcome.json").exists()
    # The size of a batch changes the last bits of outputs on some CPUs.
    assert check_equal(smoke(ENTRIES), tmp_path, "digits in batches of 100") == [0, reached]
