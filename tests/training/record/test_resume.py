"""Runs in separate processes that are killed at a random moment and then resumed."""

import random
import signal
import subprocess
import sys
import time

import pytest

KILLS = 1
STEPS = 600  # iterations of the run; an epoch has 10
ENTRIES = {
    "train.epochs": STEPS // 10,
    "train.momentum": 0.9,
    "train.learning_rates": (0.005,),
    "train.checkpoint_every": 3,
}


def newest_step(workdir):
    """Returns the iteration of the newest checkpoint; 0 without a checkpoint."""
    names = [p.name for p in workdir.glob("checkpoints/step-*")]
    return int(max(names)[5:14]) if names else 0


def start_run(workdir):
    overrides = [f"--config.{key}={value}" for key, value in ENTRIES.items()]
    command = [sys.executable, "-m", "elu_zoo.bin.train", f"--workdir={workdir}"]
    return subprocess.Popen(
        [*command, "--config=quickstart:smoke=True", *overrides],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill_at(workdir, target, seconds):
    """Kills a new process some seconds after a checkpoint at `target` or later.

    Returns the iteration of the newest checkpoint.
    """
    with start_run(workdir) as process:
        deadline = time.monotonic() + 120
        while newest_step(workdir) < target:
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(seconds)
        assert process.poll() is None
        process.kill()
        assert process.wait() == -signal.SIGKILL
    return newest_step(workdir)


@pytest.mark.slow
def test_a_killed_run_ends_bit_identically(
    smoke, train, tmp_path, last_arrays, assert_same_bits, rows
):
    killed, unstopped = tmp_path / "killed", tmp_path / "unstopped"
    generator, steps = random.Random(0), [0]  # newest checkpoints after the kills
    for index in range(KILLS):
        share = (index + generator.random()) / (KILLS + 1)
        target = max(steps[-1] + 1, int(STEPS * share))
        steps.append(kill_at(killed, target, generator.uniform(0, 0.02)))
        assert steps[-2] < steps[-1] < STEPS
    with start_run(killed) as process:
        output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output

    expected = train(smoke(ENTRIES), unstopped, compile="auto")
    arrays = last_arrays(killed)
    assert len(arrays) > 2 * 18  # weights, biases and the slots of the optimizer
    assert_same_bits(arrays, last_arrays(unstopped))
    contents = [(f / "metrics.jsonl").read_bytes() for f in (killed, unstopped)]
    assert contents[0] == contents[1]
    assert train(smoke(ENTRIES), killed)["sha256"] == expected["sha256"]
    # Each process resumed from the newest complete checkpoint.
    starts = [r["step"] for r in rows(killed / "timing.jsonl") if "strategy" in r]
    assert starts == steps
    assert not list((killed / "checkpoints").glob(".*"))
