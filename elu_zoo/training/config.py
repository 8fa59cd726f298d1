"""The config of a run, resolved: completed, checked, and hashed in one pass."""

import dataclasses
import hashlib
import json
from typing import Any

from ml_collections import ConfigDict

from elu_zoo.configs import common
from elu_zoo.training import finetuning
from elu_zoo.training.config_checks import check
from elu_zoo.training.config_fields import flat, get
from elu_zoo.weights.pretrained import Pretrained


@dataclasses.dataclass(frozen=True)
class ResolvedConfig:
    """A config that a run can be started with.

    Attributes:
        config: with every field, checked.
        values: the config as JSON values, without younger fields at their neutral
            value; see `as_dict`.
        hash: of `values`: of everything that changes the numbers by design.
        parent: the weights that it starts from, without their classifier, if any.
    """

    config: ConfigDict
    values: dict[str, Any]
    hash: str
    parent: Pretrained | None = None


def resolve(config: ConfigDict | ResolvedConfig) -> ResolvedConfig:
    """Completes, checks and hashes a config; `config` itself stays as it is.

    A resolved config is returned as it is.

    What a config leaves open is taken from the weights that it starts from; see
    `finetuning.resolved`.

    Raises:
        UsageError: a field is missing, unknown, of another type or out of its range;
            there are no such weights, or the config contradicts them.
        CorruptError: the weights have no entry.
    """
    if isinstance(config, ResolvedConfig):
        return config
    config, parent = finetuning.resolved(config.copy_and_resolve_references())
    with config.unlocked():
        _add_younger_fields(config)
    check(config)
    values = as_dict(config)
    return ResolvedConfig(config, values, dict_hash(values), parent)


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
