"""Runs that are killed at random moments end bit-identically."""

import random
import signal
import subprocess
import sys
import time

import pytest

KILLS = 1
STEPS = 600
ENTRIES = {
    "train.epochs": STEPS // 10,
    "train.momentum": 0.9,
    "train.learning_rates": (0.005,),
    "train.checkpoint_every": 3,
}


def newest(workdir):
    names = [p.name for p in workdir.glob("checkpoints/step-*")]
    return int(max(names)[5:]) if names else 0


def start(workdir):
    overrides = [f"--config.{key}={value}" for key, value in ENTRIES.items()]
    command = [sys.executable, "-m", "elu_zoo.bin.train", f"--workdir={workdir}"]
    return subprocess.Popen(
        [*command, "--config=quickstart:smoke=True", *overrides],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill_at(workdir, target, moment):
    """Kills a new process after a checkpoint; returns the newest iteration."""
    with start(workdir) as process:
        deadline = time.monotonic() + 120
        while newest(workdir) < target:
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(moment)
        assert process.poll() is None
        process.kill()
        assert process.wait() == -signal.SIGKILL
    return newest(workdir)


@pytest.mark.slow
def test_kill_9(smoke, train, tmp_path, last_arrays, assert_same_bits, rows):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    generator, stood = random.Random(0), [0]
    for index in range(KILLS):
        share = (index + generator.random()) / (KILLS + 1)
        target = max(stood[-1] + 1, int(STEPS * share))
        stood.append(kill_at(killed, target, generator.uniform(0, 0.02)))
        assert stood[-2] < stood[-1] < STEPS
    with start(killed) as process:
        output = process.communicate(timeout=300)[0]
    assert process.returncode == 0, output

    expected = train(smoke(ENTRIES), whole, compile="auto")
    arrays = last_arrays(killed)
    assert len(arrays) > 2 * 18  # with the optimizer's slots
    assert_same_bits(arrays, last_arrays(whole))
    contents = [(f / "metrics.jsonl").read_bytes() for f in (killed, whole)]
    assert contents[0] == contents[1]
    assert train(smoke(ENTRIES), killed)["sha256"] == expected["sha256"]
    # Each start went on from the newest complete checkpoint.
    starts = [r["step"] for r in rows(killed / "timing.jsonl") if "strategy" in r]
    assert starts == stood
    assert not list((killed / "checkpoints").glob(".*"))
