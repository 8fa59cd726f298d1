"""Counts how often killed runs and damaged checkpoints end as promised.

python tools/reliability.py --kills=60 --corruptions=100

Half of the kills hit a dense network on digits, a third a convolutional network on
CIFAR-10 with two phases of dropout, and a sixth the digits on JAX. A kill comes before a
random call that changes a file or is a step of the run. The run is resumed and must be
equal bit by bit to a run without kills. Damaged are the newest checkpoints of killed runs.
"""

import collections
import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
from absl import app, flags

from elu_zoo import errors, files, results
from elu_zoo.training.record.checkpoint import Checkpoints
from elu_zoo.weights import unfinished

_KILLS = flags.DEFINE_integer("kills", 60, "Number of kills.", 0)
_CSV = flags.DEFINE_string("csv", "configs/results/reliability.csv", "File of the counts.")
_CORRUPTIONS = flags.DEFINE_integer("corruptions", 100, "Flipped bits of a checkpoint.", 0)

EVERY = 5  # iterations a checkpoint, which is written while the run trains to the next one
_LOST = 2 * EVERY
_KILLS_A_RUN = 10
_SHARED = f"""
    --config.train.momentum=0.9 --config.train.boundaries=() --config.train.evaluate_every=1
    --config.train.learning_rates=(0.005,) --config.train.checkpoint_every={EVERY}"""
_DIGITS = f"--config=quickstart:smoke=True --config.train.epochs=30 {_SHARED}"
_RATES = "(0.0,0.1,0.2,0.3,0.4,0.5,0.0),(0.0,0.2,0.3,0.4,0.5,0.5,0.0)"
_IMAGES = f"""
    --config=elu_cifar_11:smoke=True --config.model.width=0.03 --config.train.epochs=5
    --config.train.phase_boundaries=(0.5,) --config.train.dropout=({_RATES})
    --config.train.dropout_placement=('last','all') --config.train.batch_size=32
    --data=cifar10 --config.data.train_examples=640 {_SHARED}"""
# Code that kills the process before the call after the first sys.argv[1] calls.
_DYING = """
import functools, importlib, os, signal, sys
left = int(sys.argv.pop(1))
def dying(module, *names):
    *owners, name = names
    owner = functools.reduce(getattr, owners, importlib.import_module(module))
    call = getattr(owner, name)
    def wrapped(*arguments, **keywords):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **keywords)
    setattr(owner, name, wrapped)
for name in 'fsync', 'rename', 'replace', 'unlink', 'mkdir':
    dying('os', name)
dying('numpy', 'savez')
dying('elu_zoo.data.load', 'load')
dying('elu_zoo.zoo', 'get_model')
dying('elu_zoo.training.record.checkpoint', 'Checkpoints', 'restore')
"""
Kept = collections.defaultdict[str, list[bool]]  # for each trial, by promise


@dataclasses.dataclass(frozen=True)
class Command:
    """A command elu-zoo-train: its name in the results, its flags, and its backend."""

    name: str
    flags: str
    backend: str = "tensorflow"

    def run(self, workdir: Path, calls: int | None = None) -> bool:
        """Starts or resumes a run, which dies after a number of calls, see _DYING.

        Returns whether the run ended before its death.
        """
        fault, before = ("", []) if calls is None else (_DYING, [str(calls)])
        code = f"{fault}\nfrom elu_zoo.bin import train; train.run()"
        command = [sys.executable, "-c", code, *before, *self.flags.split(), f"--workdir={workdir}"]
        variables = {**os.environ, "KERAS_BACKEND": self.backend}
        ended = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=600)
        if ended.returncode not in (0, -signal.SIGKILL):
            raise errors.EluZooError(f"A run ended with {ended.returncode}: {ended.stderr}")
        return ended.returncode == 0


def result(workdir: Path) -> dict[str, str]:
    """Returns the last step of a run, and hashes of its state, metrics and weights."""
    newest = max((workdir / "checkpoints").glob("step-*"))
    with np.load(newest) as arrays:
        names = [name for name in arrays.files if name != "state"]  # it has times
        hashes = {name: files.sha256(arrays[name].tobytes()) for name in names}
    (weights,) = workdir.glob("*.weights.h5")
    hashes |= {path.name: files.sha256(path) for path in (weights, workdir / "metrics.jsonl")}
    return hashes | {"step": newest.name}


def steps(path: Path, key: str) -> list[int]:
    """Returns 0, followed by the step of each row of a file that has the key."""
    rows = files.read_rows(path) if path.is_file() else []
    return [0, *(row["step"] for row in rows if key in row)]


def kill_runs(command: Command, count: int, generator: random.Random, folder: Path, kept: Kept):
    """Kills and resumes runs `count` times."""
    command.run(folder / "reference")
    expected, kills = result(folder / "reference"), 0
    while kills < count:
        workdir, is_ended = folder / f"killed-{kills}", False
        last = min(count, kills + _KILLS_A_RUN)
        while not is_ended:
            before = unfinished.newest_step(workdir) or 0
            earlier = len(steps(workdir / "timing.jsonl", "strategy"))
            calls = int(generator.expovariate(1 / 40)) if kills < last else None
            is_ended = command.run(workdir, calls)
            starts = steps(workdir / "timing.jsonl", "strategy")[earlier:]
            kept["starts from the last checkpoint"] += [step == before for step in starts]
            if not is_ended:
                kills += 1
                least = max(before, steps(workdir / "metrics.jsonl", "epoch")[-1] - _LOST)
                newest = unfinished.newest_step(workdir) or 0
                kept[f"kills that lost at most {_LOST} iterations"].append(newest >= least)
        kept["killed runs that ended bit-identical"].append(result(workdir) == expected)
        shutil.rmtree(workdir)
        print(command.name, {k: f"{sum(v)} of {len(v)}" for k, v in kept.items()}, flush=True)


def damaged(kind: str, content: bytes, older: bytes, generator: random.Random) -> bytes:
    """Returns the content of a checkpoint after a damage."""
    if kind == "swapped":
        return older
    if kind == "truncated":
        return content[: generator.randrange(len(content))]
    if kind == "zeroed":
        return bytes(len(content))
    flipped = bytearray(content)
    flipped[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
    return bytes(flipped)


def damage_checkpoints(count: int, generator: random.Random, folder: Path, kept: Kept) -> None:
    """Damages the newest checkpoint in each way, and restores the run."""
    variables = [keras.Variable(np.zeros(shape), name="v") for shape in ((99, 7), (7,))]
    kinds = ["swapped", "zeroed", *["truncated"] * 10, *["flipped"] * count]
    promise = "damaged checkpoints skipped or restored without a wrong value"
    for kind in kinds:
        checkpoints = Checkpoints(folder / "damaged", variables, 3)
        for step in 1, 2:
            for variable in variables:
                variable.assign(np.full(variable.shape, step, "float32"))
            checkpoints.save({"step": step})
        older, newest = sorted((folder / "damaged" / "checkpoints").iterdir())
        content = damaged(kind, newest.read_bytes(), older.read_bytes(), generator)
        newest.write_bytes(content)
        state = checkpoints.restore()
        values = {float(value) for v in variables for value in np.ravel(v)}
        kept[promise].append((state, values) in (({"step": 1}, {1.0}), ({"step": 2}, {2.0})))
        shutil.rmtree(folder / "damaged")


def damage_runs(command: Command, count: int, generator: random.Random, folder: Path, kept: Kept):
    """Damages the newest checkpoint of killed runs, and resumes the runs."""
    command.run(folder / "reference")
    expected = result(folder / "reference")
    promise = "runs with a damaged checkpoint that ended bit-identical"
    for number in range(count):
        workdir = folder / f"damaged-{number}"
        while (unfinished.newest_step(workdir) or 0) <= 3 * EVERY:
            command.run(workdir, generator.randrange(50, 80))
        *_, older, newest = sorted((workdir / "checkpoints").glob("step-*"))
        kind = generator.choice(("swapped", "zeroed", "truncated", "flipped"))
        newest.write_bytes(damaged(kind, newest.read_bytes(), older.read_bytes(), generator))
        command.run(workdir)
        kept[promise].append(result(workdir) == expected)
        shutil.rmtree(workdir)


def main(argv: list[str]) -> None:
    generator, kept = random.Random(0), collections.defaultdict(list)
    digits = Command("digits", _DIGITS)
    on_jax, on_images = _KILLS.value // 6, _KILLS.value // 3
    kills = {
        digits: _KILLS.value - on_jax - on_images,
        Command("CIFAR-10", _IMAGES): on_images,
        Command("digits on JAX", _DIGITS, "jax"): on_jax,
    }
    with tempfile.TemporaryDirectory() as name:
        os.environ["ELU_ZOO_HOME"] = f"{name}/home"
        for command, count in kills.items():
            if count:
                kill_runs(command, count, generator, Path(name, command.name), kept)
        damage_checkpoints(_CORRUPTIONS.value, generator, Path(name), kept)
        if count := _CORRUPTIONS.value // 10:
            damage_runs(digits, count, generator, Path(name, "damaged"), kept)
    row = {promise: f"{sum(trials)} of {len(trials)}" for promise, trials in kept.items()}
    results.write(Path(_CSV.value), row, [row])
    if not all(map(all, kept.values())):
        sys.exit("Some promises were broken.")


if __name__ == "__main__":
    app.run(main)
