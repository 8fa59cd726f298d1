"""The function `train`, which trains a network by a config in a resumable run."""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from absl import logging
from ml_collections import ConfigDict

from elu_zoo import activations, errors
from elu_zoo.data import load
from elu_zoo.training import backends, build, chunks, hardware, result
from elu_zoo.training.backends import Placement
from elu_zoo.training.config import ResolvedConfig, code_digest, dict_hash, resolve
from elu_zoo.training.record import resuming, signals
from elu_zoo.training.record.checkpoint import Checkpoints, TrainState, versions
from elu_zoo.training.record.checkpoint_writer import CheckpointWriter
from elu_zoo.training.record.outputs import OnRow, Outputs, check_observers, open_outputs
from elu_zoo.training.record.resuming import RunIdentity
from elu_zoo.training.record.signals import Stop
from elu_zoo.training.run import Run
from elu_zoo.weights.manifest import Entry
from elu_zoo.weights.unfinished import kept

if TYPE_CHECKING:
    from elu_zoo.training.record.observers import Observer


@dataclasses.dataclass(frozen=True)
class Setup:
    """What is known of a run before its data are loaded."""

    resolved: ResolvedConfig
    placement: Placement
    identity: RunIdentity
    provenance: dict[str, Any]


def train(
    config: ConfigDict | ResolvedConfig,
    workdir: str | os.PathLike,
    *,
    data_dir: str | None = None,
    strategy: str = "auto",
    num_devices: int | None = None,
    compile: str = "auto",
    steps_per_call: int | None = None,
    accumulate: int = 1,
    allow_config_change: bool = False,
    observers: Sequence["Observer"] = (),
    on_row: OnRow | None = None,
    command: str | None = None,
) -> Entry | None:
    """Trains the network of a config, and returns the entry of the trained weights.

    A second call with the same folder resumes the run, bit-identically on a CPU. If the
    run is finished, the function returns the entry at once. The function needs no absl
    flags, and can be called in notebooks.

    Args:
        config: the run's config; `elu_zoo.configs` has examples.
        workdir: the run's folder, for config.json, metrics.jsonl, timing.jsonl,
            tensorboard/, checkpoints/, and at the end the weights and their entry.
        data_dir: folder of data sets; by default $TFDS_DATA_DIR or ~/tensorflow_datasets.
        strategy, num_devices: "auto", "one", "mirrored", "multi_worker"; number of devices.
        compile, steps_per_call: "auto", "on" or "off" for XLA; most iterations in a call.
        accumulate: number of parts into which each device splits its examples of a batch, to
            save memory. Results change by rounding only, but batch normalisation has the
            statistics of one part, and RReLU and Keras' random layers draw other numbers.
        allow_config_change: whether to resume a run that began with another config. The
            entry lists the changes.
        observers: additional records of the run, for figures; see `record.observers`.
        on_row: is called with each new row of metrics.jsonl, a dict, for instance
            `on_row=wandb.log`. An error that it raises ends the run like any other.
        command: command line of this run, which the entry and the model card record.

    Returns:
        The entry; if a cluster has trained just now, None except on the chief.

    Raises:
        UsageError: an argument or a config value is invalid, or the folder belongs to
            another config.
        DataError: a data set is missing; the images or the parent weights have changed since
            the run began; or the run lacks records of `observers`.
        CorruptError: files in the folder are damaged or belong to another run.
        ResourceError: another process uses the folder, the folder is not writable, or
            another machine has stopped.
        TrainingError: the loss is not finite. Checkpoints, always finite, are kept.
        Interrupted: SIGTERM or SIGINT stopped the run, which saves a checkpoint.
    """
    workdir, options = Path(os.path.expanduser(workdir)), (compile, steps_per_call, accumulate)

    # 1. Check the config, the devices and the folder, before data are loaded.
    setup = _set_up(config, strategy, num_devices, command)
    resolved, placement = setup.resolved, setup.placement
    errors.check_integer("accumulate", accumulate, minimum=1)
    peers, chief = placement.peers, placement.chief
    load_data = functools.partial(build.load_data, resolved, data_dir)
    resuming.check_same_config(workdir, setup.identity, allow_config_change)
    finished = result.find_finished(workdir, resolved.values)
    with peers.guard():
        peers.check_same(_shared(setup.identity, options, allow_config_change, finished))
        if finished:
            resuming.check_finished(finished, workdir, load_data, observers, setup.identity)
            return finished
        resuming.check_unlocked(workdir, chief)

        # 2. Load the data, and build the model, optimizer, training step and evaluator.
        data = load_data()
        check_observers(observers, data, peers.count)
        run = build.build(resolved, data, placement, options, workdir)
        checkpoints = Checkpoints(workdir, run.variables, run.train.checkpoints_kept)
        with resuming.lock(workdir, chief, checkpoints.check_room):
            # 3. Restore the newest checkpoint, if there is one.
            state = _restore(setup, run, workdir, checkpoints, allow_config_change)

            def describe() -> str:
                return f"after iteration {state.step} of {run.length.total}. {kept(workdir)}"

            writer = CheckpointWriter(checkpoints, workdir / "config.json")
            with (
                signals.stop_on_signal(peers, describe) as stop,
                open_outputs(workdir, chief, writer, observers, on_row, run, state) as outputs,
            ):
                outputs.records.write_start(_start(state, setup, run))
                outputs.resume_observers(state.step, stop.check)

                # 4. Train to the last iteration, and write the result: its weights.
                loop(run, state, outputs, stop)
                with peers.together():
                    if not chief:
                        return None
                    poll, provenance = stop.poll_signal, setup.provenance
                    return result.write(resolved.config, run, state, workdir, provenance, poll)


def loop(run: Run, state: TrainState, outputs: Outputs, stop: Stop) -> None:
    """Trains to the last iteration. A chunk is one call of the step."""
    train, length = run.train, run.length
    pending = chunks.PendingChunk(run, state, outputs)
    remaining = chunks.remaining_chunks(run, state, outputs.until_observed)
    with stop.saving(pending.save), contextlib.closing(remaining):
        if state.epochs_recorded < state.step // length.steps_per_epoch:
            # A signal stopped the previous process while it evaluated this epoch.
            _end_epoch(run, state, outputs, stop.check)
        for chunk in stop.between(remaining):
            if chunk.rest is not None:
                run.step.start(chunk.rest)
            if run.phases.enter(run.model, chunk.first):
                run.step.compile()
            pending.begin(chunk)
            if not chunk.pauses:
                continue
            pending.finish()
            outputs.observe(state.step, stop.check)
            if state.step % length.steps_per_epoch == 0:
                _end_epoch(run, state, outputs, stop.check)
            if state.step == length.total:
                outputs.save(state)
            elif state.step % train.checkpoint_every == 0:
                outputs.save_if_due(state)
    if run.best:
        run.best.restore()
    elif run.parent and run.validation is not None and not run.data.train.is_encoded:
        logging.info(
            "The weights of the last iteration are kept. --config=finetune:keep_best=True keeps "
            "those with the lowest validation loss."
        )


def _end_epoch(
    run: Run, state: TrainState, outputs: Outputs, check: Callable[[], None] | None
) -> None:
    """Records the metrics of a finished epoch, after an evaluation if one is due."""
    steps, train = run.length.steps_per_epoch, run.train
    epoch = state.step // steps
    row = {"step": state.step, "epoch": epoch, "train_loss": state.epoch_loss / steps}
    due = epoch % train.evaluate_every == 0 or epoch == train.epochs
    if due and run.validation is not None:
        for name, value in run.evaluator(run.validation, check).items():
            if not np.isfinite(value):
                raise errors.TrainingError(
                    f"The validation {name} after iteration {state.step} is {value}. "
                    "Lower the rates in another --workdir."
                )
            row[f"validation_{name}"] = value
        if run.best and (not state.best_step or row["validation_loss"] < state.best_loss):
            state.best_step, state.best_loss = state.step, row["validation_loss"]
            run.best.copy()
    outputs.end_epoch(state, row)


def _set_up(
    config: ConfigDict | ResolvedConfig, strategy: str, num_devices: int | None, command: str | None
) -> Setup:
    """Resolves the config, and chooses the devices."""
    resolved = resolve(config)
    encoded, size = resolved.config.data.name == load.IMAGENET, resolved.config.train.batch_size
    placement = backends.choose_devices(encoded, strategy, num_devices, size)
    # This follows the choice of devices, because an activation with a random state starts them.
    activations.describe(resolved.config.model.activation)
    parent = resolved.parent.name if resolved.parent else ""
    code = code_digest(resolved.config.model)
    identity = RunIdentity(
        resolved.values, parent, code, versions=versions(), replicas=placement.replicas
    )
    # The commit is read now, because the source files may change during training.
    provenance = {"commit": result.commit(), "command": command, **placement.describe()}
    return Setup(resolved, placement, identity, provenance)


def _shared(
    identity: RunIdentity,
    options: tuple[str, int | None, int],
    allow_config_change: bool,
    finished: Entry | None,
) -> dict[str, Any]:
    """Returns the values, by name, that must be equal on all machines of a run."""
    return {
        "the config": dict_hash(identity.config),
        "the weights to start from": identity.parent,
        "the file of the network or activation": identity.code,
        "versions": identity.versions,
        "--compile, --steps_per_call and --accumulate": options,
        "--allow_config_change": allow_config_change,
        "whether the run is finished": bool(finished),
    }


def _restore(
    setup: Setup, run: Run, workdir: Path, checkpoints: Checkpoints, allow_config_change: bool
) -> TrainState:
    """Restores the newest checkpoint, if there is one, and returns the train state."""
    parts = run.compilation.accumulate
    identity = dataclasses.replace(setup.identity, images=run.data.fingerprint, accumulate=parts)
    state = TrainState(identity, run.length.batch_size)
    if saved := checkpoints.restore(keep_damaged=not setup.placement.chief):
        state = TrainState.resume(saved, identity, workdir, run.length, allow_config_change)
    agreed = {"the images": identity.images, "the iteration": state.step}
    setup.placement.peers.check_same(agreed)
    return state


def _start(state: TrainState, setup: Setup, run: Run) -> dict[str, Any]:
    """Returns the row of timing.jsonl about the start of this process."""
    return {
        "step": state.step,
        "iterations": run.length.total,
        **setup.placement.describe(),
        **dataclasses.asdict(run.compilation),
        "hardware": hardware.describe(),
        "commit": setup.provenance["commit"],
    }
