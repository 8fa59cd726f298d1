"""Recorder of losses, test curves, activations and weights, for figures.

A recorder does not change the results of a run, and is not part of the config.
"""

import dataclasses
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from elu_zoo import errors, files
from elu_zoo.data.dataset import ImageData, Split
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.training.record.activation_statistics import ActivationStatistics
from elu_zoo.training.run import Length

LOSSES = "losses.float32"
TEST = "test.jsonl"
ACTIVATIONS = "activations"
SNAPSHOTS = "snapshots"


@dataclasses.dataclass(frozen=True)
class Observe:
    """Records that a run keeps for figures, in addition to metrics.jsonl.

    Attributes:
        losses: whether to record the training loss of each iteration, as float32
            values in `losses.float32`.
        test_every: number of iterations between evaluations on the test images, for
            curves such as the paper's figures 3 to 6; 0 for no evaluation. The last
            iteration is evaluated too. The measures are written to `test.jsonl`, and
            do not influence training.
        measured_images: how many of the first training images are evaluated together
            with the test images. The names of their measures begin with `measured_`.
        activation_images: how many of the first training images are used to compute
            the mean and median activation of each unit; -1 for all. The file
            `activations/epoch-<epoch>.npz` is written before the first iteration and
            after each epoch.
        snapshots: epochs after which the float32 weights are saved, in
            `snapshots/epoch-<epoch>.npz`; epoch 0 is before the first iteration.
    """

    losses: bool = False
    test_every: int = 0
    measured_images: int = 0
    activation_images: int = 0
    snapshots: tuple[int, ...] = ()

    def __post_init__(self):
        errors.check_integer("test_every", self.test_every, minimum=0)
        errors.check_integer("measured_images", self.measured_images, minimum=0)
        errors.check_integer("activation_images", self.activation_images, minimum=-1)
        if self.measured_images and not self.test_every:
            raise errors.UsageError("measured_images needs test_every > 0. Pass test_every too.")

    def check(self, data: ImageData, several: bool) -> None:
        """Checks that a run can keep these records."""
        if self == Observe():
            return
        if several:
            raise errors.UsageError(
                "Only a run on one machine can record losses, test curves, activations "
                "and snapshots. Remove these records, or train on one machine."
            )
        for name in ("activation_images", "measured_images"):
            count = getattr(self, name)
            if count and not isinstance(data.train, Split):
                raise errors.UsageError(
                    f"{name} must be 0 for data sets whose images stay on the disk, "
                    f"such as {data.name}. Received: {count}."
                )
            if count > len(data.train):
                raise errors.UsageError(
                    f"{name} must be at most {len(data.train)}, the number of training "
                    f"images of {data.name}. Received: {count}."
                )


class Recorder:
    """Writes the records of an `Observe` while a run trains.

    When a run is resumed, losses and test measures after its checkpoint are deleted.
    Later snapshots and activation files are overwritten by equal files.

    Args:
        observe: the records to keep.
        workdir: the run's folder.
        data: the data set.
        evaluator: the evaluator of the run.
        length: the length of the run.
    """

    def __init__(
        self, observe: Observe, workdir: Path, data: ImageData, evaluator: Evaluator, length: Length
    ):
        self._observe = observe
        self._workdir = workdir
        self._test = data.test
        self._measured = None
        if observe.measured_images:
            self._measured = data.train.first(observe.measured_images)
        self._evaluator = evaluator
        self._length = length
        if count := observe.activation_images:
            self._images = data.train.images[: None if count < 0 else count]
            self._statistics = ActivationStatistics(evaluator.current())

    def begin(self, step: int, check: Callable[[], None] | None) -> None:
        """Deletes the records after `step`, and writes the records due at `step`."""
        if self._observe.losses:
            path = self._workdir / LOSSES
            path.touch()
            if path.stat().st_size < 4 * step:
                raise errors.CorruptError(
                    f"{path} has fewer losses than the {step} iterations of the "
                    f"checkpoint. Restore the file, or delete {self._workdir} to train "
                    "again."
                )
            with path.open("rb+") as file:
                file.truncate(4 * step)
        if self._observe.test_every:
            rows = [row for row in read_rows(self._workdir) if row["step"] <= step]
            text = "".join(json.dumps(row) + "\n" for row in rows)
            files.write_bytes(self._workdir / TEST, text.encode())
            self._tested = rows[-1]["step"] if rows else 0
        self.after(step, check)

    def until(self, step: int) -> int:
        """Returns the number of iterations to the next evaluation on test images."""
        every = self._observe.test_every
        return every - step % every if every else self._length.total

    def add(self, losses: np.ndarray) -> None:
        """Records the losses of the next iterations."""
        if self._observe.losses:
            with (self._workdir / LOSSES).open("ab") as file:
                file.write(losses.astype("<f4").tobytes())

    def after(self, step: int, check: Callable[[], None] | None) -> None:
        """Writes the records that are due after an iteration.

        Args:
            step: number of finished iterations.
            check: see `Evaluator.__call__`.
        """
        epoch, offset = divmod(step, self._length.steps_per_epoch)
        if not offset:
            name = f"epoch-{epoch:05d}.npz"
            if self._observe.activation_images:
                self._evaluator.current()  # copies the weights to the measured model
                statistics = self._statistics(self._images)
                statistics.save(self._workdir / ACTIVATIONS / name)
            if epoch in self._observe.snapshots:
                weights = self._evaluator.current().get_weights()
                content = io.BytesIO()
                np.savez(content, *weights)
                path = self._workdir / SNAPSHOTS / name
                files.write_bytes(path, content.getvalue())
        every = self._observe.test_every
        due = every and step and (step % every == 0 or step == self._length.total)
        if due and step > self._tested:
            measures = self._evaluator(self._test, check)
            row = {"step": step} | {f"test_{k}": v for k, v in measures.items()}
            if self._measured:
                measures = self._evaluator(self._measured, check)
                row |= {f"measured_{k}": v for k, v in measures.items()}
            with (self._workdir / TEST).open("a") as file:
                file.write(json.dumps(row) + "\n")
            self._tested = step


def read_rows(workdir: Path) -> list[dict[str, Any]]:
    """Returns the rows of test.jsonl, or an empty list if the file does not exist."""
    path = workdir / TEST
    return files.read_rows(path) if path.exists() else []


def read_losses(workdir: Path) -> np.ndarray:
    """Returns the training loss of each iteration, `(iterations,)`."""
    return np.frombuffer(files.read(workdir / LOSSES), "<f4")


def read_snapshots(workdir: Path) -> dict[int, list[np.ndarray]]:
    """Returns the weights of each snapshot, by epoch, for `Model.set_weights`."""
    snapshots = {}
    for path in sorted((workdir / SNAPSHOTS).glob("epoch-*.npz")):
        with np.load(io.BytesIO(files.read(path))) as arrays:
            weights = [arrays[f"arr_{i}"] for i in range(len(arrays.files))]
        snapshots[int(path.stem.removeprefix("epoch-"))] = weights
    return snapshots


def check_kept(workdir: Path, observe: Observe) -> None:
    """Checks that a finished run has the records of `observe`; raises `DataError`."""
    wanted = {
        LOSSES: observe.losses,
        TEST: observe.test_every,
        ACTIVATIONS: observe.activation_images,
        SNAPSHOTS: observe.snapshots,
    }
    requested = [name for name, value in wanted.items() if value]
    missing = [name for name in requested if not (workdir / name).exists()]
    if missing:
        raise errors.DataError(
            f"The finished run in {workdir} did not record {', '.join(missing)}. "
            "Delete the folder to train again."
        )
