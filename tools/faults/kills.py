"""SIGKILL of runs and exports."""

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


def kill_runs(
    command: runs.Command, count: int, generator: random.Random, folder: Path
) -> list[runs.Count]:
    """Kills and resumes runs `count` times, and counts the kept promises."""
    whole = folder / "whole"
    runs.finish(command.start(whole))  # fits and caches statistics before the timed run
    shutil.rmtree(whole)
    seconds = command.finish(whole)
    expected, total = runs.result(whole), runs.newest_step(whole)
    starts = resumed = killed = kept = number = identical = 0
    moments: Counter[str] = Counter()
    while killed < count:
        workdir = folder / f"killed-{number}"
        for _ in range(min(_KILLS_A_RUN, count - killed)):
            before, known = runs.newest_step(workdir), len(runs.start_steps(workdir))
            code = _start_and_kill(command, workdir, generator, seconds, total, moments)
            if code != -signal.SIGKILL:
                break  # finished before the kill
            killed += 1
            newest = runs.newest_step(workdir)
            kept += newest >= max(before, runs.last_row(workdir) - runs.EVERY)
            for step in runs.start_steps(workdir)[known:]:
                starts += 1
                resumed += step == before
        before, known = runs.newest_step(workdir), len(runs.start_steps(workdir))
        command.finish(workdir)
        if not known or runs.start_steps(workdir)[known:]:
            starts += 1
            resumed += runs.start_steps(workdir)[known:] == [before]
        identical += runs.result(workdir) == expected
        number += 1
        shutil.rmtree(workdir)
        print(f"{command.name}: {killed} kills, {identical} of {number}", flush=True)
    print(f"{command.name}: killed {dict(moments)}", flush=True)
    lost = f"kills that lost at most {runs.EVERY} iterations"
    return [
        (f"{lost}, {command.name}", killed, kept),
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

    Raises:
        EluZooError: the run failed before the kill.
    """
    how = generator.choice(("call", "iteration", "time"))
    calls = int(generator.expovariate(1 / 80)) if how == "call" else None
    with command.start(workdir, calls) as process:
        if how == "iteration":
            step = runs.newest_step(workdir)
            until = step + generator.randrange(max(1, total - step) // 2 + 1)
            runs.wait_for_checkpoint(workdir, until, process)
        wait = {
            "call": 600,
            "iteration": generator.uniform(0, 0.05),
            "time": generator.uniform(0, seconds),
        }[how]
        try:
            output = process.communicate(timeout=wait)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            output = process.communicate()[0]
    if process.returncode == -signal.SIGKILL:
        call = output.rpartition("dies before ")[2].strip()
        moments[f"before {call}" if how == "call" else f"at a random {how}"] += 1
    elif process.returncode:
        raise errors.EluZooError(f"A run ended with {process.returncode}: {output}")
    return process.returncode


def kill_exports(
    count: int, generator: random.Random, workdir: Path, folder: Path
) -> list[runs.Count]:
    """Kills exports of a finished run, and counts the complete versions."""
    images = load.load("mnist_5k").test.images[:16]
    model = "mnist_mlp_8x128"

    def start(name: str, calls: int | None = None) -> subprocess.Popen:
        flags = [f"--model={model}", f"--weights={workdir}"]
        return runs.start("export", [*flags, f"--export_dir={folder / name}"], calls)

    def predict(version: Path) -> bytes:
        return np.asarray(load_saved_model(version).predict(images)["logits"]).tobytes()

    runs.finish(start("whole"))
    expected = predict(folder / "whole" / model / "1")
    killed = versions = whole = 0
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
            whole += predict(version) == expected
        shutil.rmtree(folder / name)
    return [(f"versions found whole after {killed} kills of exports", versions, whole)]
