"""Runs and exports that SIGKILL ends at random moments."""

import random
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np

from elu_zoo import errors
from elu_zoo.data import load
from elu_zoo.export.loaded import load_saved_model
from faults import runs

_KILLS_A_RUN = 10
# A checkpoint is written while the run trains to the next checkpoint.
_LOST = 2 * runs.EVERY


def kill_runs(
    command: runs.Command, count: int, generator: random.Random, folder: Path
) -> list[runs.Count]:
    """Kills and resumes runs `count` times; counts how often promises are kept."""
    reference = folder / "reference"
    runs.finish(command.start(reference))  # caches statistics before the timed run
    shutil.rmtree(reference)
    seconds = command.finish(reference)
    expected, total = runs.result(reference), runs.newest_step(reference)
    starts = resumed = killed = few_lost = number = identical = 0
    moments: Counter[str] = Counter()
    while killed < count:
        workdir = folder / f"killed-{number}"
        for _ in range(min(_KILLS_A_RUN, count - killed)):
            before, earlier = runs.newest_step(workdir), len(runs.start_steps(workdir))
            code = _start_and_kill(command, workdir, generator, seconds, total, moments)
            if code != -signal.SIGKILL:
                break  # finished before the kill
            killed += 1
            newest = runs.newest_step(workdir)
            kept = max(before, runs.last_row(workdir) - _LOST)
            few_lost += newest >= kept
            for step in runs.start_steps(workdir)[earlier:]:
                starts += 1
                resumed += step == before
        before, earlier = runs.newest_step(workdir), len(runs.start_steps(workdir))
        command.finish(workdir)
        # A run that had finished before a kill does not start again.
        if not earlier or runs.start_steps(workdir)[earlier:]:
            starts += 1
            resumed += runs.start_steps(workdir)[earlier:] == [before]
        identical += runs.result(workdir) == expected
        number += 1
        shutil.rmtree(workdir)
        print(f"{command.name}: {killed} kills, {identical} of {number}", flush=True)
    print(f"{command.name}: killed {dict(moments)}", flush=True)
    promise = f"kills that lost at most {_LOST} iterations"
    return [
        (f"{promise}, {command.name}", killed, few_lost),
        (f"starts from the last checkpoint, {command.name}", starts, resumed),
        (f"killed runs that ended bit-identical, {command.name}", number, identical),
    ]


def _start_and_kill(
    command: runs.Command,
    workdir: Path,
    generator: random.Random,
    seconds: float,
    total: int,
    moments: Counter[str],
) -> int:
    """Starts a run, kills it at a random moment, and returns its exit code.

    A run without a kill takes `seconds` and has `total` iterations; `moments` counts
    the kills by moment.

    Raises:
        EluZooError: the run failed before the kill.
    """
    moment = generator.choice(("call", "iteration", "time"))
    calls = int(generator.expovariate(1 / 80)) if moment == "call" else None
    with command.start(workdir, calls) as process:
        if moment == "iteration":
            step = runs.newest_step(workdir)
            last_step = step + generator.randrange(max(1, total - step) // 2 + 1)
            runs.wait_for_checkpoint(workdir, last_step, process)
        wait = {
            "call": 600,
            "iteration": generator.uniform(0, 0.05),
            "time": generator.uniform(0, seconds),
        }[moment]
        try:
            output = process.communicate(timeout=wait)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            output = process.communicate()[0]
    if process.returncode == -signal.SIGKILL:
        call = output.rpartition("dies before ")[2].strip()
        moments[f"before {call}" if moment == "call" else f"at a random {moment}"] += 1
    elif process.returncode:
        raise errors.EluZooError(f"A run ended with {process.returncode}: {output}")
    return process.returncode


def kill_exports(
    count: int, generator: random.Random, workdir: Path, folder: Path
) -> list[runs.Count]:
    """Kills exports of a finished run; counts the versions that are complete."""
    images = load.load("mnist_5k").test.images[:16]
    model = "mnist_mlp_8x128"

    def start(name: str, calls: int | None = None) -> subprocess.Popen:
        flags = [f"--model={model}", f"--weights={workdir}"]
        return runs.start("export", [*flags, f"--export_dir={folder / name}"], calls)

    def predict(version: Path) -> bytes:
        return np.asarray(load_saved_model(version).predict(images)["logits"]).tobytes()

    runs.finish(start("reference"))
    expected = predict(folder / "reference" / model / "1")
    killed = versions = complete = 0
    while killed < count:
        name = str(killed)
        with start(name, int(generator.expovariate(1 / 20))) as process:
            process.communicate(timeout=600)
        killed += process.returncode == -signal.SIGKILL
        if process.returncode not in (0, -signal.SIGKILL):
            raise errors.EluZooError(f"An export ended with {process.returncode}.")
        runs.finish(start(name))
        for version in (folder / name / model).glob("[0-9]*"):
            versions += 1
            complete += predict(version) == expected
        shutil.rmtree(folder / name)
    promise = f"versions found whole after {killed} kills of exports"
    return [(promise, versions, complete)]
