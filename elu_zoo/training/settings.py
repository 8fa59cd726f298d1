"""Checks of a config before anything is started, and its hash."""

import hashlib
import json
from typing import Any

from ml_collections import ConfigDict

import elu_zoo.models  # noqa: F401  (registers the networks)
from elu_zoo import errors, registry
from elu_zoo.training import losses, precision, schedules

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
    "train.batch_size": int,
    "train.epochs": int,
    "train.loss": str,
    "train.precision": str,
    "train.momentum": float,
    "train.boundaries": tuple,
    "train.learning_rates": tuple,
    "train.evaluate_every": int,
    "train.checkpoint_every": int,
    "train.checkpoints_kept": int,
}


def as_dict(config: ConfigDict) -> dict[str, Any]:
    """Returns the config as plain JSON values."""
    return json.loads(config.to_json_best_effort())


def config_hash(config: ConfigDict) -> str:
    """Returns the hash of everything that changes the numbers by design."""
    text = json.dumps(as_dict(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Returns `key: old -> new` for each entry in which two configs differ."""
    old, new = _flat(old), _flat(new)
    keys = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
    return [f"{key}: {old.get(key)} -> {new.get(key)}" for key in keys]


def check(config: ConfigDict) -> None:
    """Checks the values that need no data.

    Raises:
        UsageError: a value is out of its range; the message names key and range.
    """
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
    if config.schedule not in ("paper", "fast"):
        raise errors.unknown("schedule", config.schedule, ["paper", "fast"])
    precision.check(train.precision)
    of_images = losses.get(train.loss).of_images
    if of_images != registry.entry(config.model.name).is_autoencoder:
        fit = [name for name, x in losses.LOSSES.items() if x.of_images != of_images]
        raise errors.UsageError(
            f"train.loss {train.loss} does not fit {config.model.name}, which gives "
            f"{'classes' if of_images else 'images'}. Use {' or '.join(fit)}."
        )


def check_run(config: ConfigDict, iterations: int, replicas: int) -> None:
    """Checks the values that depend on the data's size and the devices.

    Raises:
        UsageError: a batch that the replicas cannot share equally, a schedule that
            does not fit the run.
    """
    size = config.train.batch_size
    if size % replicas:
        below, above = size - size % replicas, size + replicas - size % replicas
        near = f"{below} or {above}" if below else str(above)
        raise errors.UsageError(
            f"train.batch_size is shared equally by {replicas} replicas. Received: "
            f"{size}; take {near}."
        )
    schedules.check(config.train.boundaries, config.train.learning_rates, iterations)


def _check_entries(config: ConfigDict) -> None:
    """Checks that the config has each entry, of its type, and no other."""
    entries = {key: _get(config, key) for key in _KINDS}
    missing = [key for key, value in entries.items() if value is None]
    if missing:
        raise errors.UsageError(f"The config has no entry {', '.join(missing)}.")
    for key in _flat(as_dict(config)):
        if key not in _KINDS and not key.startswith("model.activation."):
            raise errors.unknown("config entry", key, _KINDS)
    for key, value in entries.items():
        kind = _KINDS[key]
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise errors.UsageError(
                f"The config entry {key} is of type {kind.__name__}. Received: "
                f"{value!r} of type {type(value).__name__}."
            )


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
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat
