"""Damaged checkpoints, which training skips with a warning, or restores bit by bit."""

import logging
import random
import shutil
from pathlib import Path

import keras
import numpy as np

from elu_zoo.training.record.checkpoint import Checkpoints
from faults import runs


def kinds(flips: int) -> list[tuple[str, int]]:
    """Returns the pairs of the arguments `kind` and `number` of `damage`.

    For "truncated", `number` tenths of the file remain. Other kinds ignore `number`.
    """
    others = ("zeroed", "swapped", "grown")
    return [
        *(("truncated", tenth) for tenth in range(10)),
        *((name, 0) for name in others),
        *(("bit flipped", draw) for draw in range(flips)),
    ]


def damage(kind: str, number: int, path: Path, older: Path, generator: random.Random) -> None:
    """Damages the file `path`; `older` is the same file of an older checkpoint."""
    content = path.read_bytes()
    if kind == "swapped":
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
    """Damages the newest checkpoint in each way, and restores the run."""
    variables = [keras.Variable(np.zeros(shape), name="v") for shape in ((99, 7), (7,))]
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger("absl")
    logger.addHandler(handler)
    logger.propagate = False  # hides hundreds of warnings
    tried = skipped = unharmed = 0
    for kind, number in kinds(flips):
        workdir = folder / "damaged"
        checkpoints = Checkpoints(workdir, variables, 3)
        for step in 1, 2:
            for variable in variables:
                variable.assign(np.full(variable.shape, step, "float32"))
            checkpoints.save({"step": step})
        older, newest = sorted((workdir / "checkpoints").iterdir())
        messages.clear()
        damage(kind, number, newest, older, generator)
        state = checkpoints.restore()
        values = {float(value) for v in variables for value in np.ravel(v)}
        reported = newest.name in "".join(messages)
        tried += 1
        skipped += state == {"step": 1} and values == {1.0} and reported
        unharmed += state == {"step": 2} and values == {2.0} and not reported
        shutil.rmtree(workdir)
    logger.removeHandler(handler)
    logger.propagate = True
    print(f"damaged checkpoints: {skipped} skipped, {unharmed} restored", flush=True)
    promise = "damaged checkpoints skipped with a message or restored without a wrong value"
    return [(promise, tried, skipped + unharmed)]


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
        kind, tenths = generator.choice(kinds(flips=4))
        damage(kind, tenths, newest, older, generator)
        output = runs.finish(command.start(workdir))
        begun = f"step-{runs.start_steps(workdir)[-1]:09d}.npz"
        restored = older if f"{newest.name} is damaged" in output else newest
        identical += begun == restored.name and runs.result(workdir) == expected
        shutil.rmtree(workdir)
    return [("runs with a damaged checkpoint that ended bit-identical", count, identical)]
