"""Checks of a config's fields, before a run starts."""

import json
from typing import Any

from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.data import load
from elu_zoo.evaluation import loss
from elu_zoo.training import fields, phases, schedules
from elu_zoo.training.fields import ALWAYS, FIELDS, get
from elu_zoo.training.step import optimizer, precision


def check_config(config: ConfigDict) -> None:
    """Checks the fields of a config, and all values whose check needs no data."""
    _check_model_and_data(get(config, "model.name"), get(config, "data.name"))
    _check_names_and_types(config)
    _check_values(config)
    train, data = config.train, config.data
    precision.check_precision(get(config, "train.precision"))
    rates = train.learning_rates, get(config, "train.learning_rate_shape")
    schedules.check_learning_rates(get(config, "train.boundaries"), *rates)
    of_images = loss.LOSSES[train.loss].of_images
    if of_images != registry.entry(config.model.name).is_autoencoder:
        fitting = [name for name, x in loss.LOSSES.items() if x.of_images != of_images]
        raise errors.UsageError(
            f"train.loss {train.loss} does not fit {config.model.name}, which outputs "
            f"{'classes' if of_images else 'images'}. Set train.loss to {' or '.join(fitting)}."
        )
    if not data.name:
        raise errors.UsageError(
            "data.name is missing. Set --data to the name of a data set, a folder "
            "<class>/<image>, or an .npz file."
        )
    encoded = data.name == load.IMAGENET
    if encoded and data.crop_size > data.image_size:
        raise errors.UsageError(
            "data.crop_size must be <= data.image_size. Received: "
            f"{data.crop_size}, and data.image_size {data.image_size}."
        )
    _check_augmentation(config, encoded)


def _check_model_and_data(model: Any, data: Any) -> None:
    if not isinstance(model, str) or not isinstance(data, str):
        return  # `_check_names_and_types` raises the error
    kind = registry.entry(model).preprocessing.get("kind")
    if (kind == "mean_crop") != (data == load.IMAGENET):
        raise errors.UsageError(
            f"{model} cannot be trained on {data}. A network that subtracts a mean "
            f"image and crops needs {load.IMAGENET} or a folder of images. "
            f"Other networks need another data set. Received: data.name {data}."
        )


def _check_names_and_types(config: ConfigDict) -> None:
    """Checks that no field is missing, misspelt or of another type."""
    missing = [
        name
        for name, field in FIELDS.items()
        if field.always_counts
        and get(config, name) is None
        and (field.need is None or field.need.holds(config))
    ]
    if missing:
        raise errors.UsageError(
            f"Entries of the config are missing: {', '.join(missing)}. Add them, as in "
            "elu_zoo.configs.common."
        )
    types = fields.types(config.model.name)
    for key, value in fields.flat(json.loads(config.to_json_best_effort())).items():
        if "unserializable object: " in json.dumps(value):
            raise errors.UsageError(
                f"The config entry {key} must hold Python's numbers and strings. "
                f"Received: {get(config, key)!r}. Use int() or float()."
            )
        if key not in types:
            if key.startswith("model.activation."):
                continue  # the activation checks its own parameters
            raise errors.unknown_name_error("config entry", key, types)
        value, kind = get(config, key), types[key]
        if value is None and fields.NEUTRAL.get(key, ALWAYS) is None:
            continue
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind not in (bool, object)):
            raise errors.UsageError(
                f"The config entry {key} must be of type {kind.__name__}. Received: "
                f"{value!r} of type {type(value).__name__}."
            )


def _check_values(config: ConfigDict) -> None:
    """Checks the range, the choices and the need of each field."""
    for name, field in FIELDS.items():
        value = get(config, name)
        if value is None:
            continue
        if field.range:
            errors.check_number(name, value, field.range)
        if field.choices:
            errors.check_choice(name, value, field.choices)
        if field.need and value != field.neutral and not field.need.holds(config):
            remedy = "Remove it" if field.always_counts else f"Set it to {field.neutral!r}"
            raise errors.UsageError(
                f"{name} needs {field.need.text}. Received: {name}={value}. {remedy}, or "
                "set what it needs."
            )


def _check_augmentation(config: ConfigDict, encoded: bool) -> None:
    data, network = config.data, registry.entry(config.model.name)
    name = get(config, "data.augmentation")
    known = ["none", "crop_flip"] if encoded else ["none", "pad_crop_flip", "affine_recolor"]
    errors.check_choice(f"augmentation of {data.name}", name, known)
    scaled = network.preprocessing.get("kind") == "rescale"
    if name == "affine_recolor" and not (scaled and network.any_size):
        raise errors.UsageError(
            "The augmentation affine_recolor needs a network whose inputs are raw images of any "
            f"size. Received: {config.model.name}. Set data.augmentation to pad_crop_flip."
        )


def check_run(config: ConfigDict, iterations: int, replicas: int, accumulate: int = 1) -> None:
    """Checks the values that depend on the size of the data and on the devices."""
    size, parts = config.train.batch_size, replicas * accumulate
    if size % parts:
        below, above = size - size % parts, size + parts - size % parts
        near = f"{below} or {above}" if below else str(above)
        raise errors.UsageError(
            f"train.batch_size must be a multiple of {parts}: {replicas} replicas (--num_devices) "
            f"times --accumulate ({accumulate}). Received: {size}. Set it to {near}."
        )
    schedules.check_boundaries("train.boundaries", config.train.boundaries, iterations)
    phases.check_phases(config, iterations)
    optimizer.check_sgd_fields(config.train, iterations)
