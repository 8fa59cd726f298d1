"""Kills training runs and damages their checkpoints, and counts what survives.

python tools/reliability.py --kills=100 --corruptions=100 --seed=0

Each run is a short one of a dense network, on real digits and TensorFlow. It is killed
by SIGKILL again and again, half of the times after a random time, half of the times
right before a random call that changes the file system; in the end it has to be what a
run is that nobody touched, to the last bit. A damaged checkpoint has to be passed over
for the one before, and that has to be said.
"""

import csv
import io
import logging
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import keras
import numpy as np
from absl import app, flags

from elu_zoo import errors, files
from elu_zoo.training.checkpoint import Checkpoints

_KILLS = flags.DEFINE_integer("kills", 100, "Of training runs.", 0)
_CORRUPTIONS = flags.DEFINE_integer("corruptions", 100, "Of checkpoints.", 0)
_SEED = flags.DEFINE_integer("seed", 0, "Of all draws.")
_CSV = flags.DEFINE_string("output_csv", None, "File for the figures; none by default.")

_KILLS_A_RUN = 10
_EVERY = 5  # iterations between two checkpoints
_CONFIG = (
    "--config=quickstart:smoke=True",
    "--config.train.epochs=30",
    "--config.train.momentum=0.9",
    f"--config.train.checkpoint_every={_EVERY}",
)
_RUN = "from elu_zoo.bin import train; train.run()"
# Dies right before the n-th call that changes a file system.
_DYING = """
import os, shutil, signal, sys
left = int(sys.argv.pop(1))
def dying(call):
    def wrapped(*arguments, **keywords):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **keywords)
    return wrapped
for name in "fsync", "rename", "replace", "unlink", "rmdir", "mkdir":
    setattr(os, name, dying(getattr(os, name)))
"""
_FIELDS = ("what", "tried", "as_promised", "seed", "date")


def start(workdir: Path, calls: int | None = None) -> subprocess.Popen:
    """Starts or resumes a run, which dies before a call if `calls` are given."""
    code = _RUN if calls is None else _DYING + _RUN
    before = [] if calls is None else [str(calls)]
    return subprocess.Popen(
        [sys.executable, "-c", code, *before, *_CONFIG, f"--workdir={workdir}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(workdir: Path) -> float:
    """Runs to the end, and returns the seconds it took.

    Raises:
        EluZooError: it ended with another code than 0.
    """
    begin = time.monotonic()
    with start(workdir) as process:
        output = process.communicate(timeout=600)[0]
    if process.returncode:
        raise errors.EluZooError(f"A run ended with {process.returncode}: {output}")
    return time.monotonic() - begin


def result(workdir: Path) -> dict[str, str]:
    """Returns hashes of all that a run determines: the checkpoint, rows, weights."""
    newest = max((workdir / "checkpoints").glob("step-*"))
    with np.load(newest / "arrays.npz") as arrays:
        found = {name: files.sha256(arrays[name].tobytes()) for name in arrays.files}
    (weights,) = workdir.glob("*.weights.h5")
    for path in weights, workdir / "metrics.jsonl":
        found[path.name] = files.sha256(path.read_bytes())
    return found | {"step": newest.name}


def newest_step(workdir: Path) -> int:
    """Returns the iteration of the newest checkpoint, 0 without one."""
    names = [path.name for path in (workdir / "checkpoints").glob("step-*")]
    return int(max(names).removeprefix("step-")) if names else 0


def kill(count: int, generator: random.Random, folder: Path) -> list[tuple]:
    """Kills runs `count` times; returns a row each for what is promised of them."""
    seconds = finish(folder / "whole")
    expected = result(folder / "whole")
    starts = went_on = killed = lost = runs = identical = 0
    while killed < count:
        workdir = folder / f"killed-{runs}"
        for _ in range(min(_KILLS_A_RUN, count - killed)):
            before = newest_step(workdir)
            code = started_and_killed(workdir, generator, seconds)
            starts += 1
            went_on += code in (0, -signal.SIGKILL)
            killed += code == -signal.SIGKILL
            lost += newest_step(workdir) < before
            if code == 0:  # it was done before its time came
                break
        finish(workdir)
        identical += result(workdir) == expected
        runs += 1
        shutil.rmtree(workdir)
        print(f"{killed} kills, {runs} runs, {identical} identical", flush=True)
    return [
        ("starts that go on until they are killed or done", starts, went_on),
        ("kills that lose no iteration that was saved", killed, killed - lost),
        ("killed runs that end bit-identical", runs, identical),
    ]


def started_and_killed(workdir: Path, generator: random.Random, seconds: float) -> int:
    """Starts a run, kills it at a random moment, and returns how it ended."""
    by_call = generator.random() < 0.5
    calls = int(generator.expovariate(1 / 60)) if by_call else None
    with start(workdir, calls) as process:
        wait = None if by_call else generator.uniform(0, seconds)
        try:
            output = process.communicate(timeout=wait)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            output = process.communicate()[0]
    if process.returncode not in (0, -signal.SIGKILL):
        print(f"A run ended with {process.returncode}: {output}", file=sys.stderr)
    return process.returncode


DAMAGES = ("truncated", "bit flipped", "zeroed", "deleted", "swapped", "emptied")


def damage(kind: str, newest: Path, older: Path, generator: random.Random) -> None:
    """Damages a file of the newest checkpoint."""
    path = newest / generator.choice(("arrays.npz", "manifest.json"))
    content = path.read_bytes()
    if kind == "deleted":
        path.unlink()
    elif kind == "swapped":
        shutil.copy(older / path.name, path)
    else:
        place = generator.randrange(len(content))
        flipped = content[place] ^ 1 << generator.randrange(8)
        tenth = len(content) * generator.randrange(10) // 10
        path.write_bytes(
            {
                "truncated": content[:tenth],
                "bit flipped": content[:place]
                + bytes([flipped])
                + content[place + 1 :],
                "zeroed": bytes(len(content)),
                "emptied": b"",
            }[kind]
        )


def corrupt(count: int, generator: random.Random, folder: Path) -> list[tuple]:
    """Damages checkpoints `count` times; returns rows of what came of it."""
    variables = [keras.Variable(np.zeros(shape), name="v") for shape in ((99, 7), (7,))]
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("absl").addHandler(handler)
    outcomes = Counter()
    for trial in range(count):
        workdir = folder / f"damaged-{trial}"
        checkpoints = Checkpoints(workdir, variables, 3)
        for step in 1, 2:
            for variable in variables:
                variable.assign(np.full(variable.shape, step, "float32"))
            checkpoints.save({"step": step})
        older, newest = sorted((workdir / "checkpoints").iterdir())
        said.clear()
        damage(DAMAGES[trial % len(DAMAGES)], newest, older, generator)
        state = checkpoints.restore()
        values = {float(value) for v in variables for value in np.ravel(v)}
        if state == {"step": 1} and values == {1.0} and newest.name in "".join(said):
            outcomes["passed over"] += 1
        shutil.rmtree(workdir)
    logging.getLogger("absl").removeHandler(handler)
    return [
        ("damaged checkpoints passed over, and said", count, outcomes["passed over"])
    ]


def write(path: Path, rows: list[tuple]) -> None:
    """Writes the figures as CSV, atomically."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_FIELDS)
    date = time.strftime("%Y-%m-%d", time.gmtime())
    writer.writerows([*row, _SEED.value, date] for row in rows)
    files.write_bytes(path, buffer.getvalue().encode())


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Unexpected arguments: {' '.join(argv[1:])}.")
    generator = random.Random(_SEED.value)
    with tempfile.TemporaryDirectory() as name:
        rows = []
        if _CORRUPTIONS.value:
            rows += corrupt(_CORRUPTIONS.value, generator, Path(name))
        if _KILLS.value:
            rows += kill(_KILLS.value, generator, Path(name))
    for what, tried, good in rows:
        print(f"{what}: {good} of {tried}")
    if _CSV.value:
        write(Path(_CSV.value), rows)
    if any(good != tried for _, tried, good in rows):
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
