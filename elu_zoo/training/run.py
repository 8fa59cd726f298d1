"""Where a run stands, and the parts of one iteration of its loop."""

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np
from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.data import batches
from elu_zoo.training import metrics, schedules
from elu_zoo.training.checkpoint import Checkpoints
from elu_zoo.training.evaluate import Evaluator


@dataclasses.dataclass
class Position:
    """Where a run stands; a checkpoint holds all of it.

    Attributes:
        config_hash: of the run's config.
        step: iterations done.
        epoch_loss: sum of the losses of the epoch so far.
        metrics_length: bytes of metrics.jsonl.
        seconds: wall time of the loop so far.
    """

    config_hash: str
    step: int = 0
    epoch_loss: float = 0.0
    metrics_length: int = 0
    seconds: float = 0.0

    def restored(self, state: dict[str, Any], workdir: Path) -> "Position":
        """Returns the position of a checkpoint of the same config.

        Raises:
            CorruptError: the checkpoint is of another config.
        """
        found = Position(**state)
        if found.config_hash != self.config_hash:
            raise errors.CorruptError(
                f"The checkpoints in {workdir} are of another config "
                f"({found.config_hash}, expected {self.config_hash}). Delete the "
                "folder 'checkpoints' to start from the beginning."
            )
        return found


class Run:
    """The parts of one iteration of the loop."""

    def __init__(
        self,
        config: ConfigDict,
        step: Any,
        steps_per_call: int,
        position: Position,
        records: metrics.Records,
        checkpoints: Checkpoints,
    ):
        self._config = config
        self._step = step
        self._steps_per_call = steps_per_call
        self._position = position
        self._records = records
        self._checkpoints = checkpoints
        self._order: tuple[int, np.ndarray] | None = None
        self._clock = time.perf_counter()
        self._epoch_seconds = self._epoch_steps = 0  # in this process

    def call(self, examples: int, steps_per_epoch: int) -> None:
        """Runs a call's iterations, up to the epoch's end or the next checkpoint."""
        train, position = self._config.train, self._position
        epoch, offset = divmod(position.step, steps_per_epoch)
        if self._order is None or self._order[0] != epoch:
            order = batches.epoch_batches(
                self._config.seed, epoch, examples, train.batch_size
            )
            self._order = epoch, order
        count = min(
            self._steps_per_call,
            steps_per_epoch - offset,
            train.checkpoint_every - position.step % train.checkpoint_every,
        )
        rates = schedules.learning_rates(
            np.arange(position.step, position.step + count),
            train.boundaries,
            train.learning_rates,
        )
        start = time.perf_counter()
        values = self._step.run(self._order[1][offset : offset + count], rates)
        self._epoch_seconds += time.perf_counter() - start
        self._epoch_steps += count
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise errors.TrainingError(
                f"The loss of iteration {position.step + int(bad[0])} is "
                f"{values[bad[0]]}, at learning rate {rates[bad[0]]}. The last "
                "finite checkpoint is kept. Try a lower learning rate."
            )
        # Added one by one: the sum must not depend on how calls were cut.
        for value in values.tolist():
            position.epoch_loss += value
        position.step += count

    def end_epoch(self, steps: int, evaluator: Evaluator, validation) -> dict:
        """Records the epoch that has just ended, and returns its row."""
        train, position = self._config.train, self._position
        epoch = position.step // steps
        row = {"step": position.step, "epoch": epoch}
        row["train_loss"] = position.epoch_loss / steps
        position.epoch_loss = 0.0
        if epoch % train.evaluate_every == 0 or epoch == train.epochs:
            for name, value in evaluator(validation).items():
                if not np.isfinite(value):
                    raise errors.TrainingError(
                        f"The validation {name} after iteration {position.step} is "
                        f"{value}. The last finite checkpoint is kept. Try a lower "
                        "learning rate."
                    )
                row[f"validation_{name}"] = value
        self._records.write(row)
        self._tick()
        rate = self._epoch_steps * train.batch_size / self._epoch_seconds
        self._epoch_seconds = self._epoch_steps = 0
        self._records.write_timing(
            {
                "step": position.step,
                "seconds": round(position.seconds, 3),
                "examples_per_second": round(rate, 1),
            }
        )
        return row

    def checkpoint_due(self, total: int) -> bool:
        """Whether the position is one that is always saved."""
        step = self._position.step
        return step % self._config.train.checkpoint_every == 0 or step == total

    def save(self) -> None:
        """Saves the position with weights and optimizer."""
        self._tick()
        self._position.metrics_length = self._records.length()
        self._checkpoints.save(dataclasses.asdict(self._position))

    def _tick(self) -> None:
        """Adds the wall time since the last call to the position's."""
        now = time.perf_counter()
        self._position.seconds += now - self._clock
        self._clock = now
