"""Checks of a config's values, before anything is started."""

from typing import Any

from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.data import load
from elu_zoo.training import loss, optimizer, phases, precision, schedules
from elu_zoo.training.config_fields import check_fields, get

SCHEDULES = "paper", "fast", "quick"
_SMOOTHED = "softmax_cross_entropy"


def check(config: ConfigDict) -> None:
    """Checks fields, and the values that need no data.

    Raises:
        UsageError: a field is missing, unknown, of another type or out of its range;
            the message names the field and the range.
    """
    _check_names(get(config, "model.name"), get(config, "data.name"))
    check_fields(config)
    train = config.train
    for key in (
        "batch_size", "epochs", "evaluate_every", "checkpoint_every", "checkpoints_kept"
    ):  # fmt: skip
        if train[key] < 1:
            raise errors.UsageError(f"train.{key} is >= 1. Received: {train[key]}.")
    if config.data.train_examples < 0:
        raise errors.UsageError(
            "data.train_examples is >= 0, 0 for all of them. Received: "
            f"{config.data.train_examples}."
        )
    if not 0 <= train.momentum < 1:
        raise errors.UsageError(
            f"train.momentum is in [0, 1). Received: {train.momentum}."
        )
    if config.schedule_epochs < 1:
        raise errors.UsageError(
            f"schedule_epochs is >= 1. Received: {config.schedule_epochs}."
        )
    _check_data(config)
    if train.nesterov and not train.momentum:
        raise errors.UsageError("train.nesterov needs train.momentum > 0.")
    if config.schedule not in SCHEDULES:
        raise errors.unknown("schedule", config.schedule, SCHEDULES)
    precision.check(train.precision)
    of_images = loss.get(train.loss).of_images
    if of_images != registry.entry(config.model.name).is_autoencoder:
        fit = [name for name, x in loss.LOSSES.items() if x.of_images != of_images]
        raise errors.UsageError(
            f"train.loss {train.loss} does not fit {config.model.name}, which gives "
            f"{'classes' if of_images else 'images'}. Use {' or '.join(fit)}."
        )
    smoothing = train.label_smoothing
    if not 0 <= smoothing < 1 or (smoothing and train.loss != _SMOOTHED):
        raise errors.UsageError(
            f"train.label_smoothing is in [0, 1), and 0.0 unless train.loss is "
            f"{_SMOOTHED}. Received: {smoothing}, and {train.loss}."
        )


def _check_names(model: Any, data: Any) -> None:
    """Checks that network and data set, which decide the other fields, match."""
    if not isinstance(model, str) or not isinstance(data, str):
        return  # refused by check_fields
    kind = registry.entry(model).preprocessing.get("kind")
    if (kind == "mean_crop") != (data in load.ENCODED):
        raise errors.UsageError(
            f"{model} cannot be trained on {data}: networks that subtract a mean "
            f"image and crop take {', '.join(load.ENCODED)} or folders of images, "
            f"and no others do. Received: data.name {data}."
        )


def _check_data(config: ConfigDict) -> None:
    data = config.data
    encoded = data.name in load.ENCODED
    if not data.name:
        raise errors.UsageError(
            "data.name is missing. Pass --data: a data set's name, a folder "
            "<class>/<image>, or an .npz file."
        )
    _check_augmentation(config, encoded)
    if not data.measure_test and data.train_on_validation:
        raise errors.UsageError(
            "Without test images (data.measure_test=False) a run is measured on its "
            "validation images. Set data.train_on_validation to False."
        )
    if not encoded:
        return
    if not 1 <= data.crop_size <= data.image_size:
        raise errors.UsageError(
            "data.crop_size is >= 1 and at most data.image_size. Received: "
            f"{data.crop_size} and {data.image_size}."
        )
    if data.validation_images < 1:
        raise errors.UsageError(
            f"data.validation_images is >= 1. Received: {data.validation_images}."
        )
    if data.train_on_validation:
        raise errors.UsageError(
            f"The validation images of {data.name} are test images. "
            "data.train_on_validation is False."
        )


def _check_augmentation(config: ConfigDict, encoded: bool) -> None:
    data = config.data
    of_memory = "pad_crop_flip", "affine_recolor"
    augmentations = ("none", *(["crop_flip"] if encoded else of_memory))
    if data.augmentation not in augmentations:
        raise errors.unknown(
            f"augmentation of {data.name}", data.augmentation, augmentations
        )
    for key, owner in (("padding", of_memory[0]), ("field_size", of_memory[1])):
        # Without an augmentation they may stay: no flag takes a field away.
        fits = data.augmentation in ("none", owner)
        if key in data and (data[key] < 1 or not fits):
            raise errors.UsageError(
                f"data.{key} is >= 1, and for the augmentation {owner}. Received: "
                f"{data[key]}, and {data.augmentation}."
            )
    largest = 64 if data.augmentation == of_memory[0] else 0
    if not 0 <= data.cutout <= largest:
        raise errors.UsageError(
            "data.cutout is in [0, 64] pixels, and 0 unless the augmentation is "
            f"pad_crop_flip. Received: {data.cutout}, and {data.augmentation}."
        )
    network = registry.entry(config.model.name)
    scaled = network.preprocessing.get("kind") == "rescale"
    if data.augmentation == "affine_recolor" and not (scaled and network.any_size):
        raise errors.UsageError(
            "The augmentation affine_recolor is for networks of raw images of any "
            f"size. Received: {config.model.name}. Use pad_crop_flip."
        )
    whole = data.get("whole_epochs", 0)
    if not 0 <= whole <= config.train.epochs:
        raise errors.UsageError(
            "data.whole_epochs, the last ones without augmentation, are from 0 to "
            f"train.epochs, {config.train.epochs}. Received: {whole}."
        )


def check_run(
    config: ConfigDict, iterations: int, replicas: int, accumulate: int = 1
) -> None:
    """Checks the values that depend on the data's size and the devices.

    Raises:
        UsageError: a batch that the replicas, or the parts into which each cuts its
            share, cannot share equally, a schedule that does not fit the run.
    """
    size, parts = config.train.batch_size, replicas * max(1, accumulate)
    if size % parts:
        below, above = size - size % parts, size + parts - size % parts
        near = f"{below} or {above}" if below else str(above)
        shares = [f"{replicas} replicas"] if replicas > 1 else []
        shares += [f"--accumulate={accumulate}"] if accumulate > 1 else []
        raise errors.UsageError(
            f"train.batch_size is a multiple of {parts}: {' and '.join(shares)}. "
            f"Received: {size}; take {near}."
        )
    train = config.train
    schedules.check(
        train.boundaries, train.learning_rates, iterations, train.learning_rate_shape
    )
    phases.check(config, iterations)
    optimizer.check(config, iterations)
