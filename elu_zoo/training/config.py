"""The function `resolve`, which completes, checks and hashes a config."""

import dataclasses
import hashlib
import json
from typing import Any

from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.configs import common
from elu_zoo.training.config_checks import check
from elu_zoo.training.config_fields import flat, get
from elu_zoo.weights.pretrained import Pretrained


@dataclasses.dataclass(frozen=True)
class ResolvedConfig:
    """A complete and checked config.

    Attributes:
        config: the config, with every field.
        values: the config as JSON values; see `as_dict`.
        hash: the hash of `values`. Runs with equal hashes should have equal results.
        parent: pretrained weights, without their classifier, from which the run starts;
            or None.
    """

    config: ConfigDict
    values: dict[str, Any]
    hash: str
    parent: Pretrained | None = None


def resolve(config: ConfigDict | ResolvedConfig) -> ResolvedConfig:
    """Returns the completed, checked and hashed config. The argument is not changed.

    `finetuning.resolve` fills the fields of fine-tuning that are "" or None.
    """
    if isinstance(config, ResolvedConfig):
        return config
    if not isinstance(config, ConfigDict):
        raise errors.UsageTypeError(
            "config must be a ConfigDict, such as "
            "elu_zoo.configs.quickstart.get_config(). Received: a "
            f"{type(config).__name__}."
        )
    config, parent = config.copy_and_resolve_references(), None
    if config.get("model", {}).get("weights") is not None:
        from elu_zoo.training import finetuning

        config, parent = finetuning.resolve(config)
    with config.unlocked():
        _add_later_fields(config)
    check(config)
    values = as_dict(config)
    return ResolvedConfig(config, values, dict_hash(values), parent)


def as_dict(config: ConfigDict) -> dict[str, Any]:
    """Returns a config as JSON values, without later fields at their neutral value.

    Later fields, listed in `common.LATER`, are missing in configs of older runs. The
    config of an older run is therefore equal to the same config of this version.
    The activation `elu_xla` is `elu`, because weights do not depend on how it runs.
    """
    values = json.loads(config.to_json_best_effort())
    for key, neutral in _later_fields().items():
        group, _, name = key.partition(".")
        if values.get(group, {}).get(name) == neutral:
            del values[group][name]
    activation = values.get("model", {}).get("activation", {})
    if activation.get("name") == "elu_xla":  # the same function, computed by XLA
        activation["name"] = "elu"
    return values


def config_hash(config: ConfigDict) -> str:
    """Returns the hash of a config."""
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


def _later_fields() -> dict[str, Any]:
    """Returns the neutral value of each field of `common.LATER`, by `group.name`."""
    fields = common.base()
    fields.update(common.stacks())
    return {key: get(fields, key) for key in common.LATER}


def _add_later_fields(config: ConfigDict) -> None:
    """Adds missing later fields to a config that was written before these fields."""
    base = common.base()
    for key, neutral in _later_fields().items():
        group, _, name = key.partition(".")
        part = config.get(group)
        if isinstance(part, ConfigDict) and name in base[group] and name not in part:
            part[name] = neutral
