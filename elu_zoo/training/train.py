"""The training loop: one config, one folder, from the start or resumed."""

import contextlib
import dataclasses
import os
from pathlib import Path
from signal import SIGTERM
from typing import Any

import keras
from absl import logging
from ml_collections import ConfigDict

from elu_zoo import activations, errors, files, registry, zoo
from elu_zoo.data import batches, sources, statistics
from elu_zoo.data.sources import Split
from elu_zoo.layers import preprocess
from elu_zoo.training import (
    augmentation,
    backends,
    finetuning,
    optimizer,
    precision,
    records,
    result,
    resuming,
    settings,
    signals,
)
from elu_zoo.training.compilation import STREAMED_STEPS_PER_CALL
from elu_zoo.training.evaluate import Evaluator
from elu_zoo.training.loss import Objective
from elu_zoo.training.phases import Phases
from elu_zoo.training.pooled_first import pooled_first
from elu_zoo.training.recorder import Observe, Recorder
from elu_zoo.training.run import Run, TrainState
from elu_zoo.training.state import Checkpoints, versions
from elu_zoo.weights.entries import Entry


def train(
    config: ConfigDict,
    workdir: str | os.PathLike,
    *,
    data_dir: str | None = None,
    strategy: str = "auto",
    num_devices: int | None = None,
    compile: str = "auto",
    steps_per_call: int | None = None,
    accumulate: int = 1,
    allow_config_change: bool = False,
    observe: Observe | None = None,
    command: str | None = None,
) -> Entry | None:
    """Trains what `config` describes and returns the entry of its weights.

    Called again with the same folder it resumes, bit-identically on a CPU; called
    after the end it returns the entry at once. It needs no absl and runs in notebooks.

    Args:
        config: see the files in `elu_zoo.configs`.
        workdir: the run's folder: config.json, metrics.jsonl, timing.jsonl,
            tensorboard/, checkpoints/, and at the end the weights and their entry.
        data_dir: where prepared data sets are; $TFDS_DATA_DIR by default.
        strategy: see `devices.create_strategy`, as is `num_devices`.
        num_devices: devices of this machine.
        compile: see `devices.choose_compilation`, as is `steps_per_call`.
        steps_per_call: iterations in one program.
        accumulate: parts into which each device cuts its share of a batch, so that it
            needs less memory; only rounding depends on it, except for batch
            normalisation, which then is of parts.
        allow_config_change: go on with a folder whose run had another config; the
            entry names the changes, and the result is neither config's alone.
        observe: what the run keeps of its way, for figures and statistics; nothing by
            default.
        command: the command line that makes the config, for the entry and its card.

    Returns:
        The entry; None on machines of a cluster that write no files.

    Raises:
        UsageError: the config, the folder or the devices do not fit.
        DataError: the data set is missing, or its images are not those with which
            the folder's run began.
        ResourceError: the folder is in use by another process, or cannot be written,
            or another machine stopped answering.
        TrainingError: the loss is not finite; the last finite checkpoint is kept.
        Interrupted: SIGTERM or SIGINT came; the state is saved.
    """
    commit = result.commit()  # of the code that runs, which may change meanwhile
    observe = observe or Observe()

    with contextlib.ExitStack() as stack:
        # 1. Refuse what cannot work before anything is started.
        files.check_locks()
        config = finetuning.resolved(config)
        settings.check(config)
        encoded = config.data.name in sources.ENCODED
        places, create_step = backends.choose(encoded)
        # Before the activation: a layer's random state would start the devices.
        placement = places.create_strategy(strategy, num_devices)
        activations.describe(config.model.activation)
        replicas = placement.num_replicas_in_sync
        chief = places.is_chief(placement)
        workdir = Path(workdir)
        changed = resuming.changes(workdir, config, allow_config_change)
        finished = result.of_config(workdir, config)
        peers = places.peers(placement)
        stack.enter_context(peers.guard())
        peers.check_same(
            {
                "the config": settings.config_hash(config),
                "versions": versions(),
                "--compile": compile,
                "--steps_per_call": steps_per_call,
                "--accumulate": accumulate,
                "--allow_config_change": allow_config_change,
                "whether the run is finished": bool(finished),
            }
        )
        if finished:
            # The zoo's own data sets do not change, and are not read.
            if config.data.name not in (*sources.names(), *sources.ENCODED):
                resuming.check_finished(
                    finished, workdir, lambda: _load(config, data_dir)
                )
            logging.info("%s is finished.", workdir)
            return finished
        if chief and (workdir / "LOCK").exists():
            # Looked at now as well, before data are read.
            with files.exclusive(workdir / "LOCK"):
                pass

        # 2. Data.
        data = _load(config, data_dir)
        observe.check(data, several=not peers.alone)
        split, validation = _splits(config, data)
        examples, size = len(split), config.train.batch_size
        steps_per_epoch = batches.steps_per_epoch(examples, size)
        total = steps_per_epoch * config.train.epochs
        settings.check_run(config, total, replicas, accumulate)

        # 3. Model and optimizer in the strategy's scope; each machine has all data.
        if encoded:
            _check_arguments(config, data)
        preprocessing = _preprocessing(config, data)
        objective = Objective(
            config.train.loss, preprocessing, config.train.get("label_smoothing", 0.0)
        )
        # Once, not in every epoch again, and before zeros are put around; an
        # autoencoder's targets need raw images.
        autoencoder = registry.entry(config.model.name).is_autoencoder
        ahead = preprocessing["kind"] in statistics.AHEAD and not autoencoder
        if ahead:
            split = Split(preprocess(split.images, preprocessing), split.labels)
        given = preprocessing, data.image_shape, config.train.epochs
        augmented = augmentation.create(config.data, *given)
        inside = None if ahead or (encoded and augmented) else preprocessing
        phases = Phases(config.train, total)
        with placement.scope():
            field = augmented and augmented.field
            model = _build_model(config, data, preprocessing, inside, phases, field)
            finetuning.load_body(model, config)
            finetuning.freeze(model, config)
            classifier = registry.entry(config.model.name).classifier
            precision.apply(model, config.train.precision, classifier)
            built_optimizer = optimizer.create(config, model, total)
        calls = steps_per_call or (STREAMED_STEPS_PER_CALL if encoded else None)
        given = compile, calls, accumulate
        policy = places.choose_compilation(model, replicas, *given)
        computed = pooled_first(model)
        step = create_step(
            computed,
            built_optimizer,
            objective,
            split,
            size,
            placement,
            policy,
            augmented,
        )
        del split  # the step has its own copy
        whole = inside == preprocessing and config.train.precision == "float32"
        if whole and not field:
            evaluator = Evaluator(model, objective)
        else:
            measured = _build_model(config, data, preprocessing, preprocessing, phases)
            evaluator = Evaluator(measured, objective, model)

        # 4. Restore: the folder's own checkpoint; else what the model was built
        # with, the weights that the config names or the seed's initial ones.
        stack.enter_context(resuming.resumable(workdir))
        variables = [*model.variables, *built_optimizer.variables]
        checkpoints = Checkpoints(workdir, variables, config.train.checkpoints_kept)
        if chief:
            checkpoints.check_room()
            # Here and not before: a run that cannot start leaves no folder behind.
            stack.enter_context(files.exclusive(workdir / "LOCK"))
            files.remove_leftovers(workdir)
        peers.check_shared(workdir, chief)
        position = TrainState(settings.as_dict(config), data.images)
        if restored := checkpoints.restore(keep_damaged=not chief):
            position = position.restored(
                restored, workdir, steps_per_epoch, allow_config_change
            )
            logging.info("Resuming %s after iteration %d.", workdir, position.step)
        if position.step > total:
            raise errors.UsageError(
                f"{workdir} is at iteration {position.step}, and the changed config "
                f"ends at {total}. Raise train.epochs."
            )
        peers.check_same({"the images": data.images, "the iteration": position.step})
        if chief and not changed:
            files.write_json(workdir / "config.json", position.config)
        written = records.Records(workdir if chief else None, position.metrics_length)
        stack.callback(written.close)
        written.write_start(
            {
                "step": position.step,
                "strategy": type(placement).__name__.strip("_"),
                "replicas": replicas,
                **dataclasses.asdict(policy),
                "hardware": result.hardware(),
                "commit": commit,
            }
        )

        # 5. Iterate.
        signal = stack.enter_context(signals.stop_requested())
        # Machines of several agree on a stop; none may leave while others go on.
        check = signals.check(signal) if peers.alone else None
        display = stack.enter_context(records.Display(total, position.step))
        run = Run(
            config, model, step, policy.steps_per_call, examples, total, position,
            written, checkpoints, phases, augmented,
        )  # fmt: skip
        observing = Recorder(observe, workdir, data, evaluator, steps_per_epoch, total)
        try:
            observing.begin(position.step, check)
        except signals.Stopped:  # the next start measures it
            raise resuming.interrupted(
                signal(), position.step, total, workdir
            ) from None
        while position.step < total or run.epoch_due():
            with contextlib.suppress(signals.Stopped):
                if not run.epoch_due():
                    losses = run.call(observing.until(position.step))
                    display.update(position.step)
                    observing.after(position.step, losses, check)
                if run.epoch_due():
                    display.row(run.end_epoch(evaluator, validation, check))
            stopped = peers.stop(signal())
            with peers.together() if stopped else contextlib.nullcontext():
                if chief and (stopped or run.checkpoint_due()):
                    if run.save() and changed:
                        # Not before: a run that is killed until then is the old one's.
                        files.write_json(workdir / "config.json", position.config)
                        changed = []
            if stopped:
                raise resuming.interrupted(stopped, position.step, total, workdir)

        # 6. The weights of the last iteration are the result.
        entry = None
        try:
            with peers.together():
                if chief:
                    entry = result.write(
                        config, workdir, model, evaluator, data, validation,
                        preprocessing, position, commit, command, signals.check(signal),
                    )  # fmt: skip
                    files.write_json(workdir / "config.json", position.config)
        except signals.Stopped:
            stopped = signal() or SIGTERM
            raise resuming.interrupted(stopped, position.step, total, workdir) from None
        return entry


def _load(config: ConfigDict, data_dir: str | None) -> sources.ImageData:
    if config.data.name not in sources.ENCODED:
        return sources.load(config.data.name, data_dir, finetuning.image_shape(config))
    from elu_zoo.data import imagenet

    data = config.data
    return imagenet.load(data.folder, data.image_size, data.validation_images, data_dir)


def _splits(config: ConfigDict, data: sources.ImageData) -> tuple[Split, Split | None]:
    """Returns what the run trains on, and what it measures after epochs, if at all."""
    split, validation = data.train, data.validation
    if config.data.train_on_validation:
        split, validation = split.joined(validation), None
    count = config.data.train_examples or len(split)
    return split.first(min(count, len(split)) if config.smoke else count), validation


def _preprocessing(config: ConfigDict, data: sources.ImageData) -> dict[str, Any]:
    """Returns the network's preprocessing, with the data set's own statistics.

    Weights to start from have been trained on theirs.
    """
    if parent := finetuning.parent(config):
        return parent["preprocessing"]
    description = registry.entry(config.model.name).preprocessing
    if "statistics" in description:
        found = statistics.of_kind(description["kind"], data)
        description = {**description, "statistics": found}
    if "crop" in description:
        description["crop"] = [config.data.crop_size] * 2
    return description


def _build_model(
    config: ConfigDict,
    data: sources.ImageData,
    preprocessing: dict[str, Any],
    inside: dict[str, Any] | None,
    phases: Phases,
    field: tuple[int, int, int] | None = None,
) -> keras.Model:
    """Returns the network, with the preprocessing inside of it or without.

    `field` is the shape of images that an augmentation enlarges.
    """
    others = "name", "weights"
    arguments = {key: config.model[key] for key in config.model if key not in others}
    if registry.entry(config.model.name).takes("num_classes"):
        arguments["num_classes"] = data.num_classes
    return zoo.get_model(
        config.model.name,
        preprocessing=inside or False,
        **arguments,
        **phases.builder_arguments,
        input_shape=field or result.network_input(data, preprocessing),
        seed=config.seed,
    )


def _check_arguments(config: ConfigDict, data: sources.ImageData) -> None:
    """Refuses arguments of the network before all images are looked at, for hours."""
    narrow = config.copy_and_resolve_references()
    narrow.model.width = 1e-9  # one unit a layer
    given = {"kind": "mean_crop", "crop": [config.data.crop_size] * 2}
    _build_model(narrow, data, given, None, Phases(config.train, 1))
