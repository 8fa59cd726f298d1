"""Outputs of a run while it trains: checkpoints, records and a display."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elu_zoo import errors, files
from elu_zoo.data.dataset import ImageData
from elu_zoo.training import schedules
from elu_zoo.training.record import resuming
from elu_zoo.training.record.checkpoint import TrainState
from elu_zoo.training.record.checkpoint_writer import CheckpointWriter
from elu_zoo.training.record.records import Display, Records, Timer
from elu_zoo.training.run import Run

if TYPE_CHECKING:
    from elu_zoo.training.record.observers import Observer

OnRow = Callable[[dict[str, float]], object]


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Checkpoints, records, observers and display of a run."""

    run: Run
    workdir: Path | None  # None on machines other than the chief
    writer: CheckpointWriter
    records: Records
    observers: Sequence["Observer"]
    on_row: OnRow | None
    display: Display
    timer: Timer

    def save(self, state: TrainState) -> None:
        """Saves a checkpoint, unless this iteration is saved already."""
        self._begin_save(state, last=True)
        self.writer.join()

    def save_if_due(self, state: TrainState) -> None:
        """Begins to save a regular checkpoint, if enough seconds have passed."""
        if self.writer.is_due():
            self._begin_save(state)

    def _begin_save(self, state: TrainState, last: bool = False) -> None:
        if self.workdir is None:
            return
        state.seconds += self.timer.lap()
        state.metrics_length, state.metrics_sha256 = self.records.mark()
        self.writer.begin(dataclasses.asdict(state), last)

    def end_epoch(self, state: TrainState, row: dict[str, Any]) -> None:
        """Writes and shows the metrics of an epoch that has ended."""
        train, end = self.run.train, self.run.length.total
        (rate,) = schedules.learning_rates(np.array([state.step - 1]), train, end)
        self.records.write(row, learning_rate=rate)
        state.epoch_loss, state.epochs_recorded = 0.0, row["epoch"]
        state.seconds += self.timer.lap()
        timing = {"step": state.step, "seconds": round(state.seconds, 3)}
        # The rate is None if this process has only evaluated the epoch.
        if rate := self.timer.rate():
            timing["examples_per_second"] = round(rate, 1)
        self.records.write_timing(timing)
        self.display.row(row)
        if self.on_row:
            self._call_on_row(row)

    def _call_on_row(self, row: dict[str, float]) -> None:
        try:
            self.on_row(row)
        except OSError as error:  # no fault of the run's folder
            raise errors.TrainingError(f"on_row raised {error!r}.") from error

    def resume_observers(self, step: int, check: Callable[[], None] | None) -> None:
        """Deletes the observers' records after `step`, and writes those due at `step`."""
        resuming.check_observed(self.workdir, self.observers if step else ())
        for observer in self.observers:
            observer.resume(self.workdir / observer.name, step)
        self.observe(step, check)

    def until_observed(self, step: int) -> int:
        """Returns the largest number of iterations before an observer is called."""
        intervals = [observer.interval(self.run.length) for observer in self.observers]
        return min((n - step % n for n in intervals), default=self.run.length.total)

    def observe_losses(self, losses: np.ndarray) -> None:
        """Gives the observers the losses of the next iterations."""
        for observer in self.observers:
            observer.add(self.workdir / observer.name, losses)

    def observe(self, step: int, check: Callable[[], None] | None) -> None:
        """Calls the observers that are due after iteration `step`."""
        for observer in self.observers:
            if not step % observer.interval(self.run.length) or step == self.run.length.total:
                observer(self.run, self.workdir / observer.name, step, check)


def check_observers(observers: Sequence["Observer"], data: ImageData, machines: int) -> None:
    """Checks that a run on these data and this number of machines can be observed."""
    if observers and machines > 1:
        raise errors.UsageError(
            "Only a run on one machine can have observers, which record losses, curves, "
            "activations or weights. Remove them, or train on one machine."
        )
    for observer in observers:
        observer.check(data)


@contextlib.contextmanager
def open_outputs(
    workdir: Path,
    chief: bool,
    writer: CheckpointWriter,
    observers: Sequence["Observer"],
    on_row: OnRow | None,
    run: Run,
    state: TrainState,
) -> Iterator[Outputs]:
    """Opens the outputs of a run for a `with` block. Only the chief writes files."""
    if chief and "statistics" in run.preprocessing:
        from elu_zoo.data import statistics

        # With a copy of the statistics, another machine can resume or use the run.
        statistics.copy(run.preprocessing, workdir)
    if chief and not (config := workdir / "config.json").exists():
        files.write_json(config, state.identity.config)
    folder = workdir if chief else None
    records = Records(folder, (state.metrics_length, state.metrics_sha256))
    display = Display(run.length.total, state.step)
    with contextlib.closing(records), contextlib.closing(display), writer:
        hook = on_row if chief else None
        yield Outputs(run, folder, writer, records, observers, hook, display, Timer())
