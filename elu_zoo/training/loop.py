"""The training loop: one config, one folder, from the start or resumed."""

import contextlib
import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
from absl import logging
from ml_collections import ConfigDict

from elu_zoo import errors, files, zoo
from elu_zoo.data import batches, sources
from elu_zoo.training import losses, metrics, outcome, schedules, settings, signals
from elu_zoo.training.checkpoint import Checkpoints
from elu_zoo.training.evaluate import Evaluator
from elu_zoo.weights.entries import Entry


@dataclasses.dataclass
class _Position:
    """Where a run stands; a checkpoint holds all of it."""

    step: int = 0
    epoch_loss: float = 0.0  # sum over the iterations of the epoch so far
    metrics_length: int = 0  # bytes of metrics.jsonl
    seconds: float = 0.0  # of training so far


def train(
    config: ConfigDict,
    workdir: str | os.PathLike,
    *,
    data_dir: str | None = None,
    strategy: str = "auto",
    num_devices: int | None = None,
    compile: str = "auto",
    steps_per_call: int | None = None,
    allow_config_change: bool = False,
) -> Entry | None:
    """Trains what `config` describes and returns the entry of its weights.

    Called again with the same folder it resumes, bit-identically on a CPU; called
    after the end it returns the entry at once. It needs no absl and runs in notebooks.

    Args:
        config: see the files in `elu_zoo.configs`.
        workdir: the run's folder: config.json, metrics.jsonl, timing.jsonl,
            tensorboard/, checkpoints/, and at the end the weights and their entry.
        data_dir: where prepared data sets are; $TFDS_DATA_DIR by default.
        strategy: see `distribution.create_strategy`, as is `num_devices`.
        num_devices: devices of this machine.
        compile: see `distribution.create_policy`, as is `steps_per_call`.
        steps_per_call: iterations in one program.
        allow_config_change: resume although the folder's config differs.

    Returns:
        The entry; None on machines of a cluster that write no files.

    Raises:
        UsageError: the config, the folder or the devices do not fit.
        DataError: the data set is missing.
        ResourceError: the folder is in use by another process, or cannot be written.
        TrainingError: the loss is not finite; the last finite checkpoint is kept.
        Interrupted: SIGTERM or SIGINT came; the state is saved.
    """
    # 1. Refuse what cannot work before anything is started.
    settings.check(config)
    from elu_zoo.training import distribution, tf_step

    placement = distribution.create_strategy(strategy, num_devices)
    replicas = placement.num_replicas_in_sync
    chief = distribution.is_chief()
    workdir = Path(workdir)
    with contextlib.ExitStack() as stack:
        if not allow_config_change:
            _check_same_config(workdir, config)
        finished = outcome.find(workdir)
        if finished:
            logging.info("%s is finished: %s", workdir, outcome.summary(finished))
            return finished

        # 2. Data.
        data = sources.load(config.data.name, data_dir)
        split = data.train.first(config.data.train_examples or len(data.train))
        steps_per_epoch = batches.steps_per_epoch(len(split), config.train.batch_size)
        total = steps_per_epoch * config.train.epochs
        settings.check_run(config, total, replicas)

        # 3. Model and optimizer in the strategy's scope; each machine has all data.
        loss = losses.get(config.train.loss)
        with placement.scope():
            model = zoo.get_model(
                config.model.name,
                preprocessing=True,
                activation=config.model.activation,
                batch_norm=config.model.batch_norm,
                width=config.model.width,
                num_classes=data.num_classes,
                input_shape=data.image_shape,
                seed=config.seed,
            )
            optimizer = keras.optimizers.SGD(momentum=config.train.momentum)
            optimizer.build(model.trainable_variables)
        policy = distribution.create_policy(model, replicas, compile, steps_per_call)
        size = config.train.batch_size
        step = tf_step.TFStep(model, optimizer, loss, split, size, placement, policy)
        evaluator = Evaluator(model, loss)
        if chief:
            # Here and not before: a run that cannot start leaves no folder behind.
            stack.enter_context(files.exclusive(workdir / "LOCK"))
            files.write_json(workdir / "config.json", settings.as_dict(config))

        # 4. Restore: the folder's own checkpoint, else the seed's initial weights.
        variables = [*model.variables, *optimizer.variables]
        checkpoints = Checkpoints(workdir, variables, config.train.checkpoints_kept)
        restored = checkpoints.restore()
        position = _Position(**restored) if restored else _Position()
        if restored:
            logging.info("Resuming %s after iteration %d.", workdir, position.step)
        records = metrics.Records(workdir if chief else None, position.metrics_length)
        stack.callback(records.close)
        records.write_start(
            {
                "step": position.step,
                "strategy": type(placement).__name__.strip("_"),
                "replicas": replicas,
                **dataclasses.asdict(policy),
                "hardware": outcome.hardware(),
                "commit": outcome.commit(),
            }
        )

        # 5. Iterate.
        stop = stack.enter_context(signals.stop_requested())
        display = stack.enter_context(metrics.Display(total, position.step))
        run = _Run(config, step, policy.steps_per_call, position, records, checkpoints)
        while position.step < total:
            run.call(len(split), steps_per_epoch)
            display.update(position.step)
            if position.step % steps_per_epoch == 0:
                display.row(run.end_epoch(steps_per_epoch, evaluator, data.validation))
            if chief and (stop() or run.checkpoint_due(total)):
                run.save()
            if stop():
                raise errors.Interrupted(
                    f"{stop()} after iteration {position.step} of {total}: saved. "
                    f"Run the same command again to resume {workdir}."
                )

        # 6. The weights of the last iteration are the result.
        if not chief:
            return None
        entry = outcome.write(config, workdir, model, evaluator, data, total,
                              position.seconds)  # fmt: skip
        logging.info("Finished %s: %s", workdir, outcome.summary(entry))
        return entry


class _Run:
    """The parts of one iteration of the loop."""

    def __init__(
        self,
        config: ConfigDict,
        step: Any,
        steps_per_call: int,
        position: _Position,
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
        self._timed = position.step, position.seconds

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
        position.seconds += time.perf_counter() - start
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
        step, seconds = self._timed
        self._timed = position.step, position.seconds
        examples = (position.step - step) * train.batch_size
        rate = examples / max(position.seconds - seconds, 1e-9)
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
        self._position.metrics_length = self._records.length()
        self._checkpoints.save(dataclasses.asdict(self._position))


def _check_same_config(workdir: Path, config: ConfigDict) -> None:
    """Refuses a folder whose run had another config."""
    path = workdir / "config.json"
    if not path.is_file():
        return
    try:
        old = json.loads(path.read_text())
    except ValueError as error:
        raise errors.CorruptError(f"{path} is damaged: {error}.") from None
    changed = settings.differences(old, settings.as_dict(config))
    if changed:
        raise errors.UsageError(
            f"{workdir} belongs to another config: {'; '.join(changed)}. Name "
            "another --workdir, or pass --allow_config_change."
        )
