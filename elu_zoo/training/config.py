"""The config of a run, resolved: completed, checked, and hashed in one pass."""

import dataclasses
import hashlib
import json
from typing import Any

from ml_collections import ConfigDict

from elu_zoo import activations, errors, registry
from elu_zoo.configs import common
from elu_zoo.data import shapes
from elu_zoo.training import finetuning
from elu_zoo.training.config_checks import check
from elu_zoo.training.config_fields import flat, get
from elu_zoo.weights import entries


@dataclasses.dataclass(frozen=True)
class ResolvedConfig:
    """A config that a run can be started with.

    Attributes:
        config: with every field, checked.
        values: the config as JSON values, without younger fields at their neutral
            value; see `as_dict`.
        hash: of `values`: of everything that changes the numbers by design.
    """

    config: ConfigDict
    values: dict[str, Any]
    hash: str


def resolve(config: ConfigDict) -> ResolvedConfig:
    """Completes, checks and hashes a config; `config` itself stays as it is.

    A config with the field `model.weights` may leave activation, normalisation, width
    and other arguments of the network open, as "" or None. They become those of the
    weights; without weights those of the builder.

    Raises:
        UsageError: a field is missing, unknown, of another type or out of its range;
            there are no such weights, or the config contradicts them.
        CorruptError: the weights have no entry.
    """
    config = config.copy_and_resolve_references()
    with config.unlocked():
        _add_younger_fields(config)
        if get(config, "model.weights") is not None:
            _take_from_weights(config)
    check(config)
    values = as_dict(config)
    return ResolvedConfig(config, values, dict_hash(values))


def as_dict(config: ConfigDict) -> dict[str, Any]:
    """Returns a config as JSON values, without younger fields at their neutral value.

    A config that was recorded before a field existed equals one that has it there.
    """
    values = json.loads(config.to_json_best_effort())
    for key, neutral in _younger_fields().items():
        group, _, name = key.partition(".")
        if values.get(group, {}).get(name) == neutral:
            del values[group][name]
    return values


def config_hash(config: ConfigDict) -> str:
    """Returns the hash of everything that changes the numbers by design."""
    return dict_hash(as_dict(config))


def dict_hash(values: dict[str, Any]) -> str:
    """Returns the hash of a config's JSON values."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Returns `key: old -> new` for each field in which two configs differ."""
    old, new = ({k: repr(v) for k, v in flat(x).items()} for x in (old, new))
    keys = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
    return [f"{k}: {old.get(k, 'nothing')} -> {new.get(k, 'nothing')}" for k in keys]


def _younger_fields() -> dict[str, Any]:
    """Returns fields that are younger than recorded runs, and their neutral values."""
    fields = common.base()
    fields.update(common.stacks())
    return {key: get(fields, key) for key in common.LATER}


def _add_younger_fields(config: ConfigDict) -> None:
    """Completes a config that does not build on the base, and may be older."""
    base = common.base()
    for key, neutral in _younger_fields().items():
        group, _, name = key.partition(".")
        part = config.get(group)
        if isinstance(part, ConfigDict) and name in base[group] and name not in part:
            part[name] = neutral


def _take_from_weights(config: ConfigDict) -> None:
    """Fills in what a config leaves open, from its weights or from the builder."""
    model = config.model
    parameters = registry.entry(model.name).parameters
    found = {name: p.default for name, p in parameters.items()}
    if entry := finetuning.parent(config):
        found |= entry["arguments"]
    given, trained = model.activation, found["activation"]
    if not given.name or (entry and _described(given) == trained):
        named = {"name": trained} if isinstance(trained, str) else trained
        model.activation = ConfigDict({"alpha": None, **named})
    for key in [key for key in model if model[key] is None]:
        model[key] = found[key]
    if entry:
        _check_same(entry, config)


def _described(activation: ConfigDict) -> dict[str, Any]:
    return activations.describe(activation.to_dict())


def _check_same(entry: entries.Entry, config: ConfigDict) -> None:
    """Refuses weights of another activation, say: their shapes would not tell."""
    given = config.model.to_dict()
    given["activation"] = _described(config.model.activation)
    if shape := config.data.get("image_shape", ()):
        shape = shapes.check_shape(shape)
        height, width, channels = entry["arguments"]["input_shape"]
        any_size = registry.entry(config.model.name).any_size
        size = shape[:2] if any_size else (height, width)
        same = shape == (*size, channels)
        given["input_shape"] = entry["arguments"]["input_shape"] if same else shape
    for key, trained in entry["arguments"].items():
        if given.get(key, trained) != trained:
            raise errors.UsageError(
                f"The weights {entry['tag']} were trained with {key}={trained}. "
                f"Received: {key}={given[key]}. Leave it out, or name other weights."
            )
