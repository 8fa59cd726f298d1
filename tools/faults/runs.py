"""Short training runs that can be killed, and hashes of their results."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from elu_zoo import errors, files
from elu_zoo.data import load
from elu_zoo.weights import unfinished

# Text of a promise, the number of trials, and the number that kept the promise.
Count = tuple[str, int, int]

EVERY = 5  # iterations per checkpoint
EPOCH = 10  # iterations per epoch on digits
_SHARED = (
    "--config.train.momentum=0.9",
    "--config.train.boundaries=()",
    "--config.train.learning_rates=(0.005,)",
    "--config.train.evaluate_every=1",
    f"--config.train.checkpoint_every={EVERY}",
)
_DIGITS = "--config=quickstart:smoke=True", "--config.train.epochs=30", *_SHARED
_RATES = "0.0,0.1,0.2,0.3,0.4,0.5,0.0", "0.0,0.2,0.3,0.4,0.5,0.5,0.0"
_IMAGES = (
    "--config=elu_cifar_11:smoke=True",
    "--config.model.width=0.03",
    "--config.train.batch_size=32",
    "--config.train.epochs=5",
    "--config.train.phase_boundaries=(0.5,)",
    f"--config.train.dropout=(({_RATES[0]}),({_RATES[1]}))",
    "--config.train.dropout_placement=('last','all')",
    *_SHARED,
)
# Code that counts calls of the functions in its last lines, which change files or are
# steps of a run, and kills the process at the call after the first sys.argv[1] calls.
_DYING = """
import importlib, os, signal, sys, time
left = int(sys.argv.pop(1))
def dying(module, name):
    owner = importlib.import_module(module.partition(':')[0])
    for part in filter(None, module.partition(':')[2].split('.')):
        owner = getattr(owner, part)
    call = getattr(owner, name)
    def wrapped(*arguments, **keywords):
        global left
        left -= 1
        if left < 0:
            print(f'dies before {name}', flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **keywords)
    setattr(owner, name, wrapped)
for name in 'fsync', 'rename', 'replace', 'unlink', 'rmdir', 'mkdir':
    dying('os', name)
dying('numpy', 'savez')
dying('elu_zoo.data.load', 'load')
dying('elu_zoo.zoo', 'get_model')
dying('elu_zoo.training.record.checkpoint:Checkpoints', 'restore')
dying('elu_zoo.evaluation.loss:Objective', '_totals')
dying('elu_zoo.training.record.records:Timer', 'start')
"""
# Code that sleeps in the 20th training call, so that a signal arrives during a call.
_HELD = """
import sys, time
from elu_zoo.training.record.records import Timer
sys.argv.pop(1)
call, calls = Timer.start, []
def held(self, examples):
    calls.append(0)
    if len(calls) == 20:
        print('held', flush=True)
        time.sleep(60)
    return call(self, examples)
Timer.start = held
"""
HELD = -1  # the value of `calls` in `start` that selects _HELD


@dataclasses.dataclass(frozen=True)
class Command:
    """A command elu-zoo-train: its name in the results, its flags, and its backend."""

    name: str
    flags: tuple[str, ...]
    backend: str = "tensorflow"

    def start(self, workdir: Path, calls: int | None = None) -> subprocess.Popen:
        """Starts or resumes a run; `calls` is passed to the function `start`."""
        arguments = [*self.flags, f"--workdir={workdir}"]
        return start("train", arguments, calls, KERAS_BACKEND=self.backend)

    def with_flags(self, *flags: str) -> "Command":
        """Returns the command with additional flags."""
        return dataclasses.replace(self, flags=(*self.flags, *flags))

    def finish(self, workdir: Path) -> float:
        """Starts or resumes a run, and returns the seconds to its end."""
        begin = time.monotonic()
        finish(self.start(workdir))
        return time.monotonic() - begin


DIGITS = Command("digits, dense network", _DIGITS)
JAX = Command("digits, dense network, JAX", _DIGITS, "jax")


def images(folder: Path, data_dir: str | None) -> Command:
    """Returns the command of runs on 640 images of CIFAR-10 with two phases of dropout.

    The images are written to `folder`.
    """
    data = load.load("cifar10", data_dir)
    path = folder / "cifar.npz"
    parts = {"train": data.train.first(640), "test": data.test.first(200)}
    np.savez(
        path,
        **{f"x_{name}": part.images for name, part in parts.items()},
        **{f"y_{name}": part.labels for name, part in parts.items()},
    )
    return Command("CIFAR-10, convolutional network", (*_IMAGES, f"--data={path}"))


def start(
    binary: str, arguments: list[str], calls: int | None = None, **environment: str
) -> subprocess.Popen:
    """Starts a binary such as "train".

    With `calls=None` the process runs without a fault, and with `calls=HELD` it sleeps,
    see _HELD. Otherwise it is killed after `calls` calls of the functions in _DYING.
    """
    code = f"from elu_zoo.bin import {binary}; {binary}.run()"
    before = [] if calls is None else [str(calls)]
    fault = "" if calls is None else _HELD if calls == HELD else _DYING
    return subprocess.Popen(
        [sys.executable, "-c", fault + code, *before, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )


def finish(process: subprocess.Popen) -> str:
    """Waits for a process, which must exit with code 0, and returns its output."""
    with process:
        output = process.communicate(timeout=600)[0]
    if process.returncode:
        raise errors.EluZooError(f"A process ended with {process.returncode}: {output}")
    return output


def result(workdir: Path) -> dict[str, str]:
    """Returns the last step of a run, and hashes of its state, metrics and weights."""
    newest = max((workdir / "checkpoints").glob("step-*"))
    with np.load(newest) as arrays:
        names = [name for name in arrays.files if name != "state"]  # it has times
        hashes = {name: files.sha256(arrays[name].tobytes()) for name in names}
    (weights,) = workdir.glob("*.weights.h5")
    for path in weights, workdir / "metrics.jsonl":
        hashes[path.name] = files.sha256(path.read_bytes())
    return hashes | {"step": newest.name}


def newest_step(workdir: Path) -> int:
    """Returns the iteration of the newest checkpoint, or 0."""
    return unfinished.newest_step(workdir) or 0


def last_row(workdir: Path) -> int:
    """Returns the iteration of the last row of metrics.jsonl, or 0."""
    return _steps(workdir / "metrics.jsonl", "epoch")[-1]


def start_steps(workdir: Path) -> list[int]:
    """Returns the first iteration of each start of a run."""
    return _steps(workdir / "timing.jsonl", "strategy")[1:]


def _steps(path: Path, key: str) -> list[int]:
    """Returns 0, followed by the step of each complete row that has the key."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.is_file() else []
    rows = [json.loads(line) for line in lines]
    return [0, *(row["step"] for row in rows if key in row)]


def wait_for_checkpoint(workdir: Path, step: int, process: subprocess.Popen) -> bool:
    """Waits for a checkpoint later than `step`; returns False if the process ends."""
    while newest_step(workdir) <= step and process.poll() is None:
        time.sleep(0.001)
    return process.poll() is None
