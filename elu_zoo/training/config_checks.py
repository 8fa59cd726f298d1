"""Checks of a config's values, before a run starts."""

from typing import Any

from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.data import load
from elu_zoo.evaluation import loss
from elu_zoo.training import phases, schedules
from elu_zoo.training.config_fields import check_fields, get
from elu_zoo.training.step import optimizer, precision

SCHEDULES = "paper", "quick", "ours"
_NOT_TRAINED_ON = (
    "data.train_on_validation to False (finetune and the configs of CIFAR: validation=True)"
)
_MINIMUM = {
    "train.batch_size": 1,
    "train.epochs": 1,
    "train.evaluate_every": 1,
    "train.checkpoint_every": 1,
    "train.checkpoints_kept": 1,
    "data.train_examples": 0,
    "schedule_epochs": 1,
}


def check(config: ConfigDict) -> None:
    """Checks the fields of a config, and all values whose check needs no data."""
    _check_model_and_data(get(config, "model.name"), get(config, "data.name"))
    check_fields(config)
    train = config.train
    for key, minimum in _MINIMUM.items():
        value = get(config, key)
        if value < minimum:
            raise errors.UsageError(f"{key} must be >= {minimum}. Received: {value}.")
    if not 0 <= config.seed < 2**64:
        raise errors.UsageError(f"seed must be in [0, 2**64). Received: {config.seed}.")
    errors.check_positive("model.width", config.model.width)
    errors.check_number(
        "train.momentum", train.momentum, "must be in [0, 1)", lambda value: 0 <= value < 1
    )
    errors.check_choice("train.optimizer", train.optimizer, optimizer.OPTIMIZERS)
    rates = train.learning_rates
    schedules.check(train.boundaries, rates, None, train.learning_rate_shape)
    _check_data(config)
    if train.nesterov and not train.momentum:
        raise errors.UsageError(
            "train.nesterov=True needs train.momentum > 0. Set train.momentum, or set "
            "train.nesterov to False."
        )
    errors.check_choice("schedule", config.schedule, SCHEDULES)
    precision.check(train.precision)
    of_images = loss.get(train.loss).of_images
    if of_images != registry.entry(config.model.name).is_autoencoder:
        fitting = [name for name, x in loss.LOSSES.items() if x.of_images != of_images]
        raise errors.UsageError(
            f"train.loss {train.loss} does not fit {config.model.name}, which outputs "
            f"{'classes' if of_images else 'images'}. Set train.loss to "
            f"{' or '.join(fitting)}."
        )
    smoothing, required_loss = train.label_smoothing, "softmax_cross_entropy"
    if not 0 <= smoothing < 1 or (smoothing and train.loss != required_loss):
        raise errors.UsageError(
            f"train.label_smoothing must be in [0, 1), and 0.0 unless train.loss is "
            f"{required_loss}. Received: {smoothing}, and train.loss {train.loss}."
        )


def _check_model_and_data(model: Any, data: Any) -> None:
    if not isinstance(model, str) or not isinstance(data, str):
        return  # `check_fields` raises the error
    kind = registry.entry(model).preprocessing.get("kind")
    if (kind == "mean_crop") != (data in load.ENCODED):
        raise errors.UsageError(
            f"{model} cannot be trained on {data}. A network that subtracts a mean "
            f"image and crops needs {', '.join(load.ENCODED)} or a folder of images. "
            f"Other networks need another data set. Received: data.name {data}."
        )


def _check_data(config: ConfigDict) -> None:
    data = config.data
    encoded = data.name in load.ENCODED
    if not data.name:
        raise errors.UsageError(
            "data.name is missing. Set --data to the name of a data set, a folder "
            "<class>/<image>, or an .npz file."
        )
    _check_augmentation(config, encoded)
    if config.train.keep_best and (encoded or data.train_on_validation):
        problem = (
            f"The validation images of {data.name} are part of its test images"
            if encoded
            else "data.train_on_validation=True leaves no validation images"
        )
        raise errors.UsageError(
            "train.keep_best keeps the weights with the lowest loss on validation "
            f"images on which nothing else depends. {problem}. Set train.keep_best to "
            "False" + ("." if encoded else f", or {_NOT_TRAINED_ON}.")
        )
    if not data.measure_test and data.train_on_validation:
        raise errors.UsageError(
            "A run with data.measure_test=False is evaluated on its validation images "
            f"only, and cannot train on them. Set {_NOT_TRAINED_ON}."
        )
    if not encoded:
        return
    if not 1 <= data.crop_size <= data.image_size:
        raise errors.UsageError(
            "data.crop_size must be >= 1 and <= data.image_size. Received: "
            f"{data.crop_size}, and data.image_size {data.image_size}."
        )
    errors.check_integer("data.validation_images", data.validation_images, minimum=1)
    if data.train_on_validation:
        raise errors.UsageError(
            f"The validation images of {data.name} are part of its test images. Set "
            "data.train_on_validation to False."
        )


def _check_augmentation(config: ConfigDict, encoded: bool) -> None:
    data = config.data
    in_memory = "pad_crop_flip", "affine_recolor"
    augmentations = ("none", *(["crop_flip"] if encoded else in_memory))
    errors.check_choice(f"augmentation of {data.name}", data.augmentation, augmentations)
    for key, required in (("padding", in_memory[0]), ("field_size", in_memory[1])):
        # Allowed for "none", because no flag can remove the field from a config.
        fits = data.augmentation in ("none", required)
        if key in data and (data[key] < 1 or not fits):
            raise errors.UsageError(
                f"data.{key} must be >= 1, and needs data.augmentation {required}. "
                f"Received: {data[key]}, and data.augmentation {data.augmentation}."
            )
    largest = 64 if data.augmentation == in_memory[0] else 0
    if not 0 <= data.cutout <= largest:
        raise errors.UsageError(
            "data.cutout must be in [0, 64] pixels, and 0 unless data.augmentation is "
            f"pad_crop_flip. Received: {data.cutout}, and {data.augmentation}."
        )
    network = registry.entry(config.model.name)
    scaled = network.preprocessing.get("kind") == "rescale"
    if data.augmentation == "affine_recolor" and not (scaled and network.any_size):
        raise errors.UsageError(
            "The augmentation affine_recolor needs a network whose inputs are raw "
            f"images of any size. Received: {config.model.name}. Set data.augmentation "
            "to pad_crop_flip."
        )
    whole = data.get("whole_epochs", 0)
    if not 0 <= whole <= config.train.epochs:
        raise errors.UsageError(
            "data.whole_epochs, the number of last epochs without augmentation, must "
            f"be in [0, train.epochs] = [0, {config.train.epochs}]. Received: {whole}."
        )


def check_run(config: ConfigDict, iterations: int, replicas: int, accumulate: int = 1) -> None:
    """Checks the values that depend on the size of the data and on the devices."""
    size, parts = config.train.batch_size, replicas * max(1, accumulate)
    if size % parts:
        below, above = size - size % parts, size + parts - size % parts
        near = f"{below} or {above}" if below else str(above)
        shares = [f"{replicas} replicas"] if replicas > 1 else []
        shares += [f"--accumulate={accumulate}"] if accumulate > 1 else []
        raise errors.UsageError(
            f"train.batch_size must be a multiple of {parts}, because of "
            f"{' and '.join(shares)}. Received: {size}. Set it to {near}."
        )
    train = config.train
    schedules.check(train.boundaries, train.learning_rates, iterations, train.learning_rate_shape)
    phases.check(config, iterations)
    optimizer.check(config, iterations)
