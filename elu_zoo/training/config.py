"""The function `resolve`, which completes, checks and hashes a config, and other hashes."""

import contextlib
import dataclasses
import hashlib
import inspect
import json
from pathlib import Path
from typing import Any

import keras
from ml_collections import ConfigDict

from elu_zoo import activations, errors, files, registry
from elu_zoo.activations.table import is_maxout
from elu_zoo.training import fields
from elu_zoo.training.config_checks import check_config
from elu_zoo.weights.pretrained import Pretrained


@dataclasses.dataclass(frozen=True)
class ResolvedConfig:
    """A complete and checked config."""

    config: ConfigDict  # with every field
    values: dict[str, Any]  # of `as_dict`
    hash: str  # of `values`; runs with equal hashes should have equal results
    parent: Pretrained | None = None  # weights from which the run starts, without classifier


def resolve(config: ConfigDict | ResolvedConfig) -> ResolvedConfig:
    """Returns the completed, checked and hashed config. The argument is not changed.

    `finetuning.fill_from_parent` fills the fields of fine-tuning that are "" or None.
    """
    if isinstance(config, ResolvedConfig):
        return config
    if not isinstance(config, ConfigDict):
        raise errors.UsageTypeError(
            "config must be a ConfigDict, such as get_config() of elu_zoo.configs.quickstart. "
            f"Received: a {type(config).__name__}."
        )
    config, parent = ConfigDict(config).copy_and_resolve_references(), None
    if fields.get(config, "model.weights") is not None:
        from elu_zoo.training import finetuning

        config, parent = finetuning.fill_from_parent(config)
    check_config(config)
    with config.unlocked():
        fields.complete(config)
    values = as_dict(config)
    return ResolvedConfig(config, values, dict_hash(values), parent)


def as_dict(config: ConfigDict) -> dict[str, Any]:
    """Returns a config as JSON values.

    The activation `elu_xla` is `elu`, because weights do not depend on how it runs.
    """
    values = json.loads(config.to_json_best_effort())
    activation = values.get("model", {}).get("activation", {})
    if activation.get("name") == "elu_xla":  # the same function, computed by XLA
        activation["name"] = "elu"
    return values


def dict_hash(values: dict[str, Any]) -> str:
    """Returns the hash of the fields of a config that differ from their neutral values."""
    text = json.dumps(fields.counted(values), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Returns `key: old -> new` for each field in which two configs differ."""
    both = (fields.NEUTRAL | fields.flat(x) for x in (old, new))
    old, new = ({k: repr(v) for k, v in each.items()} for each in both)
    keys = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
    return [f"{k}: {old.get(k, 'nothing')} -> {new.get(k, 'nothing')}" for k in keys]


def code_digest(model: ConfigDict) -> str:
    """Returns a hash of the source of a user's network and activation now, or ""."""
    used = [inspect.unwrap(registry.entry(model.name).builder)]
    if not is_maxout(model.activation):
        layer = activations.make(model.activation, "activation", seed=0)
        of_function = type(layer) is keras.layers.Activation
        used.append(inspect.unwrap(layer.activation) if of_function else type(layer))
    sources = set()
    for each in used:
        if (each.__module__ or "keras").partition(".")[0] not in ("elu_zoo", "keras"):
            # Python finds no source of, for example, the code of an interactive shell.
            with contextlib.suppress(OSError, TypeError):
                sources.add(_source(each))
    return files.sha256(b"\0".join(sorted(sources)))[:16] if sources else ""


def _source(used: Any) -> bytes:
    path = Path(inspect.getsourcefile(used))
    # The cells of a notebook have no file.
    return path.read_bytes() if path.is_file() else inspect.getsource(used).encode()
