"""A run in a process of its own that is killed and then resumed."""

import signal
import subprocess
import sys
import time

import pytest

from elu_zoo.weights.unfinished import newest_step

ENTRIES = {
    "train.epochs": 60,  # of ten iterations
    "train.momentum": 0.9,
    "train.learning_rates": (0.005,),
    "train.checkpoint_every": 3,
}


def start_run(workdir):
    overrides = [f"--config.{key}={value}" for key, value in ENTRIES.items()]
    command = [sys.executable, "-m", "elu_zoo.bin.train", f"--workdir={workdir}"]
    return subprocess.Popen(
        [*command, "--config=quickstart:smoke=True", *overrides],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
def test_a_killed_run_ends_bit_identically(
    smoke, train, tmp_path, last_arrays, assert_same_bits, rows
):
    killed, unstopped = tmp_path / "killed", tmp_path / "unstopped"
    with start_run(killed) as process:
        deadline = time.monotonic() + 120
        while (newest_step(killed) or 0) < 200:
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < deadline
            time.sleep(0.001)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    step = newest_step(killed)
    with start_run(killed) as process:
        output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output

    expected = train(smoke(ENTRIES), unstopped, compile="auto")
    arrays = last_arrays(killed)
    assert len(arrays) > 2 * 18  # weights, biases and the slots of the optimizer
    assert_same_bits(arrays, last_arrays(unstopped))
    assert rows(killed / "metrics.jsonl") == rows(unstopped / "metrics.jsonl")
    assert train(smoke(ENTRIES), killed)["sha256"] == expected["sha256"]
    starts = [r["step"] for r in rows(killed / "timing.jsonl") if "strategy" in r]
    assert starts == [0, step] and not list((killed / "checkpoints").glob(".*"))
