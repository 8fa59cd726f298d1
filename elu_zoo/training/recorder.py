"""Recorder of losses, test curves, activations and weights, for figures.

It does not change the numbers of a run, and is no part of the config.
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
from elu_zoo.training.activation_statistics import ActivationStatistics
from elu_zoo.training.evaluate import Evaluator
from elu_zoo.training.run import Length

LOSSES = "losses.float32"
TEST = "test.jsonl"
ACTIVATIONS = "activations"
SNAPSHOTS = "snapshots"


@dataclasses.dataclass(frozen=True)
class Observe:
    """The records of a run for figures, in addition to metrics.jsonl.

    Attributes:
        losses: record the training loss of each iteration, as float32 values in
            `losses.float32`.
        test_every: number of iterations between evaluations on the test images, with
            one more at the end; 0 for none. Rows go to `test.jsonl`, for curves such
            as the paper's figures 3 to 6. No choice of a run depends on them.
        measured_images: number of first training images that are evaluated with the
            test images, as `measured_...`.
        activation_images: number of first training images over which the mean and
            median activation of each unit are computed, before the first iteration
            and after each epoch, in `activations/epoch-<epoch>.npz`; -1 for all.
        snapshots: epochs after which the float32 weights are saved, in
            `snapshots/epoch-<epoch>.npz`; 0 is before the first iteration.
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
            raise errors.UsageError("measured_images needs test_every > 0.")

    def check(self, data: ImageData, several: bool) -> None:
        """Checks that a run can keep these records.

        Raises:
            UsageError: there are too few images in memory, or several machines.
        """
        if self == Observe():
            return
        if several:
            raise errors.UsageError(
                "Only runs on one machine keep losses, test curves, activations and "
                "snapshots. Remove them, or train on one machine."
            )
        for name in ("activation_images", "measured_images"):
            count = getattr(self, name)
            if count and not isinstance(data.train, Split):
                raise errors.UsageError(
                    f"{name} is 0 for data sets whose images stay on the disk, such "
                    f"as {data.name}. Received: {count}."
                )
            if count > len(data.train):
                raise errors.UsageError(
                    f"{name} is {count}; {data.name} has {len(data.train)} training "
                    "images."
                )


class Recorder:
    """Keeps the records of an `Observe` while a run trains.

    A resumed run cuts the records after its checkpoint, or writes equal files again.

    Args:
        observe: the records to keep.
        workdir: the run's folder.
        data: the data set.
        evaluator: the evaluator of the run.
        length: the length of the run.
    """

    def __init__(
        self,
        observe: Observe,
        workdir: Path,
        data: ImageData,
        evaluator: Evaluator,
        length: Length,
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
        """Cuts records after `step`, and makes missing records of `step`."""
        if self._observe.losses:
            path = self._workdir / LOSSES
            path.touch()
            if path.stat().st_size < 4 * step:
                raise errors.CorruptError(
                    f"{path} has fewer losses than the checkpoint has iterations: "
                    f"{step}. Restore the file, or delete {self._workdir} to train "
                    "again."
                )
            with path.open("rb+") as file:
                file.truncate(4 * step)
        if self._observe.test_every:
            rows = [row for row in read_rows(self._workdir) if row["step"] <= step]
            text = "".join(json.dumps(row) + "\n" for row in rows)
            files.write_bytes(self._workdir / TEST, text.encode())
            self._tested = rows[-1]["step"] if rows else 0
        self._at(step, check)

    def until(self, step: int) -> int:
        """Returns the iterations from `step` to the next evaluation on test images."""
        every = self._observe.test_every
        return every - step % every if every else self._length.total

    def after(
        self, step: int, losses: np.ndarray, check: Callable[[], None] | None
    ) -> None:
        """Keeps the records that are due after an iteration.

        Args:
            step: iterations done.
            losses: the losses of the last call.
            check: see `Evaluator`.
        """
        if self._observe.losses:
            with (self._workdir / LOSSES).open("ab") as file:
                file.write(losses.astype("<f4").tobytes())
        self._at(step, check)

    def _at(self, step: int, check: Callable[[], None] | None) -> None:
        epoch, within = divmod(step, self._length.steps_per_epoch)
        if not within:
            name = f"epoch-{epoch:05d}.npz"
            if self._observe.activation_images:
                self._evaluator.current()
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
            found = self._evaluator(self._test, check)
            row = {"step": step} | {f"test_{k}": v for k, v in found.items()}
            if self._measured:
                found = self._evaluator(self._measured, check)
                row |= {f"measured_{k}": v for k, v in found.items()}
            with (self._workdir / TEST).open("a") as file:
                file.write(json.dumps(row) + "\n")
            self._tested = step


def read_rows(workdir: Path) -> list[dict[str, Any]]:
    """Returns the rows of a run's test.jsonl; an empty list without that file."""
    path = workdir / TEST
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    # A killed process may leave an incomplete line.
    return [json.loads(line) for line in lines if line.endswith("\n")]


def read_losses(workdir: Path) -> np.ndarray:
    """Returns the training loss of each iteration, `(iterations,)`."""
    return np.fromfile(workdir / LOSSES, "<f4")


def read_snapshots(workdir: Path) -> dict[int, list[np.ndarray]]:
    """Returns a run's snapshots by epoch: arguments of `Model.set_weights`."""
    found = {}
    for path in sorted((workdir / SNAPSHOTS).glob("epoch-*.npz")):
        with np.load(path) as arrays:
            weights = [arrays[f"arr_{i}"] for i in range(len(arrays.files))]
        found[int(path.stem.removeprefix("epoch-"))] = weights
    return found


def check_kept(workdir: Path, observe: Observe) -> None:
    """Checks that a finished run kept these records; raises `DataError`."""
    wanted = {
        LOSSES: observe.losses,
        TEST: observe.test_every,
        ACTIVATIONS: observe.activation_images,
        SNAPSHOTS: observe.snapshots,
    }
    asked = [name for name, value in wanted.items() if value]
    missing = [name for name in asked if not (workdir / name).exists()]
    if missing:
        raise errors.DataError(
            f"The finished run in {workdir} kept no {', '.join(missing)}. Delete "
            "the folder to train again."
        )
