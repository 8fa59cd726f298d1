"""Checks of a config before anything is started, and its hash."""

import hashlib
import json
from typing import Any

from ml_collections import ConfigDict

import elu_zoo.models  # noqa: F401  (registers the networks)
from elu_zoo import errors, registry
from elu_zoo.data import sources
from elu_zoo.training import loss, optimizer, phases, precision, schedules

SCHEDULES = "paper", "fast", "quick"
_KINDS = {
    "name": str,
    "seed": int,
    "smoke": bool,
    "schedule": str,
    "schedule_epochs": int,
    "model.name": str,
    "model.activation": ConfigDict,
    "model.batch_norm": bool,
    "model.width": float,
    "data.name": str,
    "data.train_examples": int,
    "data.train_on_validation": bool,
    "data.augmentation": str,
    "train.batch_size": int,
    "train.epochs": int,
    "train.loss": str,
    "train.precision": str,
    "train.momentum": float,
    "train.nesterov": bool,
    "train.boundaries": tuple,
    "train.learning_rates": tuple,
    "train.learning_rate_shape": str,
    "train.evaluate_every": int,
    "train.checkpoint_every": int,
    "train.checkpoints_kept": int,
}
# Of networks whose dropout has phases.
_KINDS_OF_PHASES = {
    "train.phase_boundaries": tuple,
    "train.dropout": tuple,
    "train.dropout_placement": tuple,
}
# Of data sets whose images stay encoded on the disk.
_KINDS_OF_ENCODED = {
    "data.folder": str,
    "data.image_size": int,
    "data.crop_size": int,
    "data.validation_images": int,
}
# Of runs that go on from weights, or on images of other shapes, and of what only some
# of the paper's rivals do.
_OPTIONAL = {
    "model.weights": str,
    "data.image_shape": tuple,
    "data.measure_test": bool,
    "data.padding": int,
    "data.field_size": int,
    "data.whole_epochs": int,
    "train.freeze": tuple,
    "train.heads_until": float,
    "train.learning_rate_factors": tuple,
    "train.momentum_rise": tuple,
    "train.label_smoothing": float,
    "train.optimizer": str,
    "train.sgd_factor": float,
    "train.sgd_decay": float,
}
# What says the same as no entry is no part of a config's hash: a new entry makes no
# finished run another one.
_NEUTRAL = {
    "data.measure_test": True,
    "train.label_smoothing": 0.0,
    "train.optimizer": "sgd",
    "train.sgd_factor": 1.0,
    "train.sgd_decay": 0.0,
    "model.initial_kernels": "normal",
}
_SMOOTHED = "softmax_cross_entropy"
# Arguments of a builder that other entries stand for.
_GIVEN = (
    "activation batch_norm width num_classes input_shape seed preprocessing conv_dtype"
).split()


def as_dict(config: ConfigDict) -> dict[str, Any]:
    """Returns the config as plain JSON values, but for later entries' neutral ones."""
    values = json.loads(config.to_json_best_effort())
    for key, neutral in _NEUTRAL.items():
        part, _, name = key.partition(".")
        if values.get(part, {}).get(name) == neutral:
            del values[part][name]
    return values


def config_hash(config: ConfigDict) -> str:
    """Returns the hash of everything that changes the numbers by design."""
    return dict_hash(as_dict(config))


def dict_hash(values: dict[str, Any]) -> str:
    """Returns the hash of a config's JSON values."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Returns `key: old -> new` for each entry in which two configs differ."""
    old, new = ({k: repr(v) for k, v in _flat(x).items()} for x in (old, new))
    keys = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
    return [f"{k}: {old.get(k, 'nothing')} -> {new.get(k, 'nothing')}" for k in keys]


def check(config: ConfigDict) -> None:
    """Checks the values that need no data.

    Raises:
        UsageError: a value is out of its range; the message names key and range.
    """
    _check_names(_get(config, "model.name"), _get(config, "data.name"))
    _check_entries(config)
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
    smoothing = train.get("label_smoothing", 0.0)
    if not 0 <= smoothing < 1 or (smoothing and train.loss != _SMOOTHED):
        raise errors.UsageError(
            f"train.label_smoothing is in [0, 1), and 0.0 unless train.loss is "
            f"{_SMOOTHED}. Received: {smoothing}, and {train.loss}."
        )


def _check_names(model: Any, data: Any) -> None:
    """Checks that network and data set, which decide the other entries, match."""
    if not isinstance(model, str) or not isinstance(data, str):
        return  # refused as entries
    kind = registry.entry(model).preprocessing.get("kind")
    if (kind == "mean_crop") != (data in sources.ENCODED):
        raise errors.UsageError(
            f"{model} cannot be trained on {data}: networks that subtract a mean "
            f"image and crop take {', '.join(sources.ENCODED)} or folders of images, "
            f"and no others do. Received: data.name {data}."
        )


def _check_data(config: ConfigDict) -> None:
    data = config.data
    encoded = data.name in sources.ENCODED
    if not data.name:
        raise errors.UsageError(
            "data.name is missing. Pass --data: a data set's name, a folder "
            "<class>/<image>, or an .npz file."
        )
    _check_augmentation(config, encoded)
    if not data.get("measure_test", True) and data.train_on_validation:
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
        # Without an augmentation they may stay: no flag takes an entry away.
        fits = data.augmentation in ("none", owner)
        if key in data and (data[key] < 1 or not fits):
            raise errors.UsageError(
                f"data.{key} is >= 1, and for the augmentation {owner}. Received: "
                f"{data[key]}, and {data.augmentation}."
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


def _check_entries(config: ConfigDict) -> None:
    """Checks that the config has each entry, of its type, and no other."""
    kinds = _kinds(config)
    entries = {key: _get(config, key) for key in kinds}
    arguments = _OPTIONAL | _arguments(_get(config, "model.name"))
    missing = [key for key, value in entries.items() if value is None]
    if missing:
        raise errors.UsageError(f"The config has no entry {', '.join(missing)}.")
    for key in _flat(json.loads(config.to_json_best_effort())):
        if key in arguments:
            kinds[key], entries[key] = arguments[key], _get(config, key)
        elif key not in kinds and not key.startswith("model.activation."):
            raise errors.unknown("config entry", key, kinds | arguments)
    for key, value in entries.items():
        kind = kinds[key]
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise errors.UsageError(
                f"The config entry {key} is of type {kind.__name__}. Received: "
                f"{value!r} of type {type(value).__name__}."
            )


def _kinds(config: ConfigDict) -> dict[str, type]:
    """Returns the type of each entry that a config must have."""
    kinds = dict(_KINDS)
    model = _get(config, "model.name")
    # A name that is missing or of another type is refused as an entry.
    if isinstance(model, str) and registry.entry(model).is_phased:
        # Without any of them a run is one phase, with the network's own rates.
        if any(_get(config, key) is not None for key in _KINDS_OF_PHASES):
            kinds |= _KINDS_OF_PHASES
    if _get(config, "data.name") in sources.ENCODED:
        kinds |= _KINDS_OF_ENCODED
    return kinds


def _arguments(model: Any) -> dict[str, type]:
    """Returns the type of each entry that may name an argument of its builder."""
    if not isinstance(model, str):
        return {}
    registered = registry.entry(model)
    phased = ("dropout", "dropout_placement") if registered.is_phased else ()
    return {
        f"model.{key}": type(parameter.default)
        for key, parameter in registered.parameters.items()
        if key not in (*_GIVEN, *phased)
    }


def _get(config: ConfigDict, key: str) -> Any:
    """Returns the entry `a.b` of a config, None where there is none."""
    value: Any = config
    for part in key.split("."):
        if not hasattr(value, "keys") or part not in value:
            return None
        value = value[part]
    return value


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat
