"""Observers of a run, which record its losses, curves, activations and weights for figures.

An observer does not change the results of a run, and is not part of the config.
"""

import dataclasses
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from elu_zoo import errors, files
from elu_zoo.data.dataset import ImageData
from elu_zoo.training.record.activation_statistics import UnitStatistics
from elu_zoo.training.run import Length, Run


@dataclasses.dataclass(frozen=True)
class Observer:
    """Records one kind of values in the file or folder `name` of a run's folder.

    Fields are plain values, of which results stores keep a hash.
    """

    name: ClassVar[str]

    def check(self, data: ImageData) -> None:
        """Raises `UsageError` if a data set lacks what is observed."""

    def interval(self, length: Length) -> int:
        """Returns the number of iterations between two calls."""
        return length.steps_per_epoch

    def resume(self, path: Path, step: int) -> None:
        """Deletes a file's records after iteration `step`; a folder's are written again."""
        path.mkdir(exist_ok=True)
        files.remove_leftovers(path)

    def add(self, path: Path, losses: np.ndarray) -> None:
        """Records the training losses of the next iterations, `(iterations,)`."""

    def __call__(self, run: Run, path: Path, step: int, check: Callable[[], None] | None) -> None:
        """Records values after iteration `step`, a multiple of the interval or the last one.

        `check` is an argument of `Evaluator.__call__`.
        """


@dataclasses.dataclass(frozen=True)
class Losses(Observer):
    """Records the training loss of each iteration, as float32 values."""

    name = "losses.float32"

    def resume(self, path: Path, step: int) -> None:
        path.touch()
        if path.stat().st_size < 4 * step:
            raise errors.CorruptError(
                f"{path} has fewer losses than the {step} iterations of the checkpoint. "
                f"Restore the file, or delete {path.parent} to train again."
            )
        os.truncate(path, 4 * step)

    def add(self, path: Path, losses: np.ndarray) -> None:
        with path.open("ab") as file:
            file.write(losses.astype("<f4").tobytes())


@dataclasses.dataclass(frozen=True)
class Measures(Observer):
    """Records measures of the test images, for curves such as the paper's figures 3 to 6."""

    name = "test.jsonl"
    every: int  # number of iterations between evaluations; the last one is evaluated too
    training_images: int = 0  # number of the first ones, whose measures are `measured_...`

    def __post_init__(self):
        errors.check_integer("every", self.every, minimum=1)
        errors.check_integer("training_images", self.training_images, minimum=0)

    def check(self, data: ImageData) -> None:
        _check_images(data, self.training_images)

    def interval(self, length: Length) -> int:
        return self.every

    def resume(self, path: Path, step: int) -> None:
        rows = [row for row in read_rows(path.parent) if row["step"] <= step]
        files.write_bytes(path, "".join(json.dumps(row) + "\n" for row in rows).encode())

    def __call__(self, run: Run, path: Path, step: int, check: Callable[[], None] | None) -> None:
        if not step or any(row["step"] == step for row in read_rows(path.parent)):
            return
        measured = {"test": run.data.test}
        if self.training_images:
            measured["measured"] = run.data.train.first(self.training_images)
        row: dict[str, float] = {"step": step}
        for name, split in measured.items():
            row |= {f"{name}_{key}": value for key, value in run.evaluator(split, check).items()}
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")


@dataclasses.dataclass(frozen=True)
class Activations(Observer):
    """Records the mean and median activation of each unit at the start and after each epoch."""

    name = "activations"
    images: int = -1  # number of the first training images; -1 for all

    def __post_init__(self):
        errors.check_integer("images", self.images, minimum=-1)

    def check(self, data: ImageData) -> None:
        _check_images(data, self.images)

    def __call__(self, run: Run, path: Path, step: int, check: Callable[[], None] | None) -> None:
        images = run.data.train.images[: None if self.images < 0 else self.images]
        run.evaluator.current()  # copies the weights to the measured model
        run.unit_statistics(images).save(_of_epoch(run, path, step))


@dataclasses.dataclass(frozen=True)
class Snapshots(Observer):
    """Records the float32 weights after some epochs; epoch 0 is before the first iteration."""

    name = "snapshots"
    epochs: tuple[int, ...]

    def __call__(self, run: Run, path: Path, step: int, check: Callable[[], None] | None) -> None:
        if step // run.length.steps_per_epoch in self.epochs:
            content = io.BytesIO()
            np.savez(content, *run.evaluator.current().get_weights())
            files.write_bytes(_of_epoch(run, path, step), content.getvalue())


def _check_images(data: ImageData, count: int) -> None:
    """Checks that training images can be observed; raises `UsageError`."""
    observable = 0 if data.train.is_encoded else len(data.train)
    if count > observable or (count and not observable):
        raise errors.UsageError(
            f"At most {observable} training images of {data.name} can be observed, because they "
            f"must be in memory. Received: {count}. Set a smaller number, or 0."
        )


def _of_epoch(run: Run, folder: Path, step: int) -> Path:
    return folder / f"epoch-{step // run.length.steps_per_epoch:05d}.npz"


def _epochs(folder: Path) -> dict[int, Path]:
    """Returns the files of `_of_epoch` in a folder, by epoch."""
    paths = sorted(folder.glob("epoch-*.npz"))
    return {int(path.stem.removeprefix("epoch-")): path for path in paths}


def read_losses(workdir: Path) -> np.ndarray:
    """Returns the training loss of each iteration, `(iterations,)`."""
    return np.frombuffer(files.read(workdir / Losses.name), "<f4")


def read_rows(workdir: Path) -> list[dict[str, Any]]:
    """Returns the rows of test.jsonl, or an empty list if the file does not exist."""
    path = workdir / Measures.name
    return files.read_rows(path) if path.exists() else []


def read_activations(workdir: Path) -> dict[int, UnitStatistics]:
    """Returns the activation statistics of all units by epoch; epoch 0 is untrained."""
    paths = _epochs(workdir / Activations.name)
    return {epoch: UnitStatistics.load(path) for epoch, path in paths.items()}


def read_snapshots(workdir: Path) -> dict[int, list[np.ndarray]]:
    """Returns the weights of each snapshot, by epoch, for `Model.set_weights`."""
    paths = _epochs(workdir / Snapshots.name)
    loaded = {epoch: np.load(io.BytesIO(files.read(path))) for epoch, path in paths.items()}
    return {epoch: list(arrays.values()) for epoch, arrays in loaded.items()}
