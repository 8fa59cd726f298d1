"""Damaged checkpoints, which training must skip with a warning."""

import logging
import random
import shutil
from pathlib import Path

import keras
import numpy as np

from elu_zoo.training.record.checkpoint import Checkpoints
from faults import runs

_FILES = "arrays.npz", "manifest.json"


def kinds(flips: int) -> list[tuple[str, int]]:
    """Returns the pairs of the arguments `kind` and `number` of `damage`.

    For "truncated", `number` tenths of the file remain. Other kinds ignore `number`.
    """
    others = ("zeroed", "deleted", "swapped", "grown")
    return [
        *(("truncated", tenth) for tenth in range(10)),
        *((name, 0) for name in others),
        *(("bit flipped", draw) for draw in range(flips)),
    ]


def damage(kind: str, number: int, path: Path, older: Path, generator: random.Random) -> None:
    """Damages the file `path`; `older` is the same file of an older checkpoint."""
    content = path.read_bytes()
    if kind == "deleted":
        path.unlink()
    elif kind == "swapped":
        shutil.copy(older, path)
    elif kind == "truncated":
        path.write_bytes(content[: len(content) * number // 10])
    elif kind == "zeroed":
        path.write_bytes(bytes(len(content)))
    elif kind == "grown":
        path.write_bytes(content + b"\0")
    else:
        flipped = bytearray(content)
        flipped[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        path.write_bytes(flipped)


def damage_checkpoints(flips: int, generator: random.Random, folder: Path) -> list[runs.Count]:
    """Damages each file of the newest checkpoint in each way, and restores the run."""
    variables = [keras.Variable(np.zeros(shape), name="v") for shape in ((99, 7), (7,))]
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger("absl")
    logger.addHandler(handler)
    logger.propagate = False  # hides hundreds of warnings
    tried = reported = skipped = 0
    for name in _FILES:
        for kind, number in kinds(flips):
            workdir = folder / "damaged"
            checkpoints = Checkpoints(workdir, variables, 3)
            for step in 1, 2:
                for variable in variables:
                    variable.assign(np.full(variable.shape, step, "float32"))
                checkpoints.save({"step": step})
            older, newest = sorted((workdir / "checkpoints").iterdir())
            messages.clear()
            damage(kind, number, newest / name, older / name, generator)
            state = checkpoints.restore()
            values = {float(value) for v in variables for value in np.ravel(v)}
            good = state == {"step": 1} and values == {1.0}
            tried += 1
            skipped += good
            reported += good and newest.name in "".join(messages)
            shutil.rmtree(workdir)
    logger.removeHandler(handler)
    logger.propagate = True
    return [
        ("damaged checkpoints skipped and reported", tried, reported),
        ("damaged checkpoints that were not loaded", tried, skipped),
    ]


def damage_runs(
    command: runs.Command, count: int, generator: random.Random, folder: Path
) -> list[runs.Count]:
    """Damages the newest checkpoint of killed runs, and resumes the runs."""
    command.finish(folder / "reference")
    expected = runs.result(folder / "reference")
    identical = 0
    for number in range(count):
        workdir = folder / f"damaged-{number}"
        with command.start(workdir) as process:
            runs.wait_for_checkpoint(workdir, 3 * runs.EVERY, process)
            process.kill()
        *_, older, newest = sorted((workdir / "checkpoints").glob("step-*"))
        name = generator.choice(_FILES)
        kind, tenths = generator.choice(kinds(flips=4))
        damage(kind, tenths, newest / name, older / name, generator)
        output = runs.finish(command.start(workdir))
        skipped = f"{newest.name} is damaged" in output
        skipped &= f"step-{runs.start_steps(workdir)[-1]:09d}" == older.name
        identical += skipped and runs.result(workdir) == expected
        shutil.rmtree(workdir)
    return [("runs with a damaged checkpoint that ended bit-identical", count, identical)]
