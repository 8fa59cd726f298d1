"""Where a run stands, and the parts of one iteration of its loop."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.data import batches
from elu_zoo.data.sources import Split
from elu_zoo.training import records, resuming, schedules, settings
from elu_zoo.training.augmentation import Augmentation
from elu_zoo.training.evaluate import Evaluator
from elu_zoo.training.phases import Phases
from elu_zoo.training.state import Checkpoints


@dataclasses.dataclass
class TrainState:
    """Where a run stands; a checkpoint holds all of it.

    Attributes:
        config: the run's, as JSON values.
        images: the name of the images it trains on; of files a fingerprint with it.
        step: iterations done.
        epoch_loss: sum of the losses of the epoch so far.
        epochs_recorded: epochs whose row is written.
        metrics_length: bytes of metrics.jsonl.
        seconds: wall time of the loop so far.
        config_changes: what was changed of the config on the way, and when.
    """

    config: dict[str, Any]
    images: str
    step: int = 0
    epoch_loss: float = 0.0
    epochs_recorded: int = 0
    metrics_length: int = 0
    seconds: float = 0.0
    config_changes: list[str] = dataclasses.field(default_factory=list)

    def restored(
        self,
        state: dict[str, Any],
        workdir: Path,
        steps_per_epoch: int,
        allow_config_change: bool = False,
    ) -> "TrainState":
        """Returns the position of a checkpoint of the same images.

        Args:
            state: of the checkpoint.
            workdir: the run's folder.
            steps_per_epoch: iterations.
            allow_config_change: its config may be another one.

        Raises:
            UsageError: the checkpoint is of another config, which may not be.
            CorruptError: it is, and of an earlier version, which kept a hash of it.
            DataError: it is of other images.
        """
        # Checkpoints of earlier versions do not name their images, and were written
        # after the row of an epoch.
        known = {
            "config": self.config,
            "images": self.images,
            "epochs_recorded": state["step"] // steps_per_epoch,
        }
        known |= {key: value for key, value in state.items() if key != "config_hash"}
        found = TrainState(**known)
        old_hash = state.get("config_hash")
        if old_hash and old_hash != settings.dict_hash(self.config):
            raise errors.CorruptError(
                f"The checkpoints in {workdir} are of another config, of the hash "
                f"{old_hash}. Delete the folder 'checkpoints' to start from the "
                "beginning."
            )
        changed = settings.differences(found.config, self.config)
        resuming.check_changes(changed, allow_config_change, workdir)
        if changed:
            text = f"after iteration {found.step}: {'; '.join(changed)}"
            found.config, found.config_changes = self.config, [
                *found.config_changes, text
            ]  # fmt: skip
        resuming.check_images(found.images, self.images, workdir)
        return found


class Run:
    """The parts of one iteration of the loop."""

    def __init__(
        self,
        config: ConfigDict,
        model: keras.Model,
        step: Any,
        steps_per_call: int,
        examples: int,
        total: int,
        position: TrainState,
        written: records.Records,
        checkpoints: Checkpoints,
        phases: Phases,
        augmentation: Augmentation | None,
    ):
        self._config = config
        self._model = model
        self._examples = examples
        self._total = total
        self._steps_per_epoch = total // config.train.epochs
        self._step = step
        self._phases = phases
        self._augmentation = augmentation
        self._steps_per_call = steps_per_call
        self._position = position
        self._records = written
        self._checkpoints = checkpoints
        self._epoch: int | None = None  # of the order and the draws
        self._order = self._draws = None
        self._clock = time.perf_counter()
        self._epoch_seconds = self._epoch_steps = 0  # in this process

    def call(self, most: int) -> np.ndarray:
        """Runs a call's iterations: to the end of epoch or phase, or a checkpoint.

        Args:
            most: iterations.

        Returns:
            The loss of each, `(iterations,)`.
        """
        train, position = self._config.train, self._position
        epoch, offset = divmod(position.step, self._steps_per_epoch)
        if epoch != self._epoch:
            self._draw(epoch)
            self._step.start(self._order[offset:])
        if self._phases.enter(self._model, position.step):
            self._step.compile()
        count = min(
            most,
            self._steps_per_call,
            self._steps_per_epoch - offset,
            self._phases.end(position.step) - position.step,
            train.checkpoint_every - position.step % train.checkpoint_every,
        )
        rates = schedules.learning_rates(
            np.arange(position.step, position.step + count),
            train.boundaries,
            train.learning_rates,
            train.learning_rate_shape,
            self._total,
        )
        start = time.perf_counter()
        chosen = self._order[offset : offset + count]
        draws = None if self._draws is None else self._draws[chosen]
        values = self._step.run(chosen, rates, position.step, draws)
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
        return values

    def _draw(self, epoch: int) -> None:
        seed, size = self._config.seed, self._config.train.batch_size
        examples = self._examples
        self._epoch = epoch
        self._order = batches.epoch_batches(seed, epoch, examples, size)
        if self._augmentation:
            self._draws = self._augmentation.draws(seed, epoch, examples)

    def epoch_due(self) -> bool:
        """Whether an epoch has ended whose row is not yet written."""
        return self._position.epochs_recorded < (
            self._position.step // self._steps_per_epoch
        )

    def end_epoch(
        self,
        evaluator: Evaluator,
        validation: Split | None,
        check: Callable[[], None] | None,
    ) -> dict:
        """Records the epoch that has just ended, and returns its row.

        Args:
            evaluator: of the model.
            validation: what to measure on, if anything.
            check: see `Evaluator`; where it raises, nothing is recorded.
        """
        train, position = self._config.train, self._position
        steps = self._steps_per_epoch
        epoch = position.step // steps
        row = {"step": position.step, "epoch": epoch}
        row["train_loss"] = position.epoch_loss / steps
        due = epoch % train.evaluate_every == 0 or epoch == train.epochs
        if due and validation is not None:
            for name, value in evaluator(validation, check).items():
                if not np.isfinite(value):
                    raise errors.TrainingError(
                        f"The validation {name} after iteration {position.step} is "
                        f"{value}. The last finite checkpoint is kept. Try a lower "
                        "learning rate."
                    )
                row[f"validation_{name}"] = value
        self._records.write(row)
        position.epoch_loss = 0.0
        position.epochs_recorded = epoch
        self._tick()
        timing = {"step": position.step, "seconds": round(position.seconds, 3)}
        if self._epoch_steps:  # none in a process that began with this evaluation
            rate = self._epoch_steps * train.batch_size / self._epoch_seconds
            timing["examples_per_second"] = round(rate, 1)
        self._epoch_seconds = self._epoch_steps = 0
        self._records.write_timing(timing)
        return row

    def checkpoint_due(self) -> bool:
        """Whether the position is one that is always saved."""
        step = self._position.step
        return step % self._config.train.checkpoint_every == 0 or step == self._total

    def save(self) -> bool:
        """Saves the position with weights and optimizer, if that is not done yet.

        Returns:
            Whether a checkpoint was written.
        """
        self._tick()
        self._position.metrics_length = self._records.length()
        return self._checkpoints.save(dataclasses.asdict(self._position))

    def _tick(self) -> None:
        """Adds the wall time since the last call to the position's."""
        now = time.perf_counter()
        self._position.seconds += now - self._clock
        self._clock = now
