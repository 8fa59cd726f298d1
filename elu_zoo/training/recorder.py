"""Recorder of losses, test curves, activations and weights, for figures.

It changes no number of a run, and so is no part of the config.
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
    """The records that a run keeps beside metrics.jsonl.

    Attributes:
        losses: the training loss of each iteration, float32 one after the other in
            `losses.float32`.
        test_every: measure on the test images every so many iterations and after the
            last one, a row each in `test.jsonl`; 0 for never. For curves such as the
            paper's figures 3 to 6: no choice of a run depends on them.
        measured_images: with them, measure on this many of the first training images,
            as `measured_...`; 0 for none.
        activation_images: before the first iteration and after each epoch, each
            unit's mean and median activation over this many of the first training
            images, in `activations/epoch-<epoch>.npz`; 0 for none, -1 for all.
        snapshots: after which epochs to keep the weights, float32, in
            `snapshots/epoch-<epoch>.npz`; 0 is before the first iteration.
    """

    losses: bool = False
    test_every: int = 0
    measured_images: int = 0
    activation_images: int = 0
    snapshots: tuple[int, ...] = ()

    def __post_init__(self):
        if self.test_every < 0:
            raise errors.UsageError(
                f"test_every is >= 0, 0 for never. Received: {self.test_every}."
            )
        if self.measured_images < 0 or (self.measured_images and not self.test_every):
            raise errors.UsageError(
                "measured_images is >= 0, 0 for none, and needs test_every. Received: "
                f"{self.measured_images}."
            )
        if self.activation_images < -1:
            raise errors.UsageError(
                "activation_images is >= 1, 0 for none or -1 for all training images. "
                f"Received: {self.activation_images}."
            )

    def check(self, data: ImageData, several: bool) -> None:
        """Checks that a run can keep these records.

        Raises:
            UsageError: the images stay on the disk, are too few, or the run is on
                several machines.
        """
        if self == Observe():
            return
        if several:
            raise errors.UsageError(
                "Losses, test curves, activations and snapshots are kept by runs on "
                "one machine alone. Leave them out."
            )
        for name in ("activation_images", "measured_images"):
            count = getattr(self, name)
            if count and not isinstance(data.train, Split):
                raise errors.UsageError(
                    f"{name} is 0 where images stay on the disk, as those of "
                    f"{data.name} do. Received: {count}."
                )
            if count > len(data.train):
                raise errors.UsageError(
                    f"{name} is {count}; {data.name} has {len(data.train)} training "
                    "images."
                )


class Recorder:
    """Keeps the records of an `Observe` while a run trains.

    A resumed run cuts the records after its checkpoint, or writes equal bytes over
    them.

    Args:
        observe: the records to keep.
        workdir: the run's folder.
        data: the data set.
        evaluator: of the model.
        length: the run's.
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
        """Cuts records after `step`, and makes those that a stop there left out."""
        if self._observe.losses:
            path = self._workdir / LOSSES
            path.touch()
            if path.stat().st_size < 4 * step:
                raise errors.CorruptError(
                    f"{path} has fewer losses than the checkpoint has iterations, "
                    f"{step}. Delete the folder to run it again."
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
        """Returns the number of iterations from `step` to the next record.

        Ends of epochs do not count: calls end there in any case.
        """
        every = self._observe.test_every
        return every - step % every if every else self._length.total

    def after(
        self, step: int, losses: np.ndarray, check: Callable[[], None] | None
    ) -> None:
        """Keeps the records that are due after an iteration.

        Args:
            step: iterations done.
            losses: of the last call's iterations.
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
                _save(self._workdir / SNAPSHOTS / name, weights)
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
    """Returns the rows of a run's test.jsonl, none where there is none."""
    path = workdir / TEST
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    # A kill leaves a line without its end.
    return [json.loads(line) for line in lines if line.endswith("\n")]


def read_losses(workdir: Path) -> np.ndarray:
    """Returns the training loss of each of a run's iterations, `(iterations,)`."""
    return np.fromfile(workdir / LOSSES, "<f4")


def read_snapshots(workdir: Path) -> dict[int, list[np.ndarray]]:
    """Returns the weights that a run kept, as `Model.set_weights` takes them.

    Returns:
        Weights by epoch, in ascending order.
    """
    found = {}
    for path in sorted((workdir / SNAPSHOTS).glob("epoch-*.npz")):
        with np.load(path) as arrays:
            weights = [arrays[f"arr_{i}"] for i in range(len(arrays.files))]
        found[int(path.stem.removeprefix("epoch-"))] = weights
    return found


def _save(path: Path, weights: list[np.ndarray]) -> None:
    content = io.BytesIO()
    np.savez(content, *weights)
    path.parent.mkdir(exist_ok=True)
    files.write_bytes(path, content.getvalue())


def check_kept(workdir: Path, observe: Observe) -> None:
    """Checks that a finished run kept these records.

    Raises:
        DataError: it was trained without them.
    """
    wanted = {
        LOSSES: observe.losses,
        TEST: observe.test_every,
        ACTIVATIONS: observe.activation_images,
        SNAPSHOTS: observe.snapshots,
    }
    kept = [name for name in wanted if (workdir / name).exists()]
    missing = [name for name, asked in wanted.items() if asked and name not in kept]
    if missing:
        raise errors.DataError(
            f"The run in {workdir} is finished and kept no {', '.join(missing)}. "
            "Delete the folder to run it again."
        )
