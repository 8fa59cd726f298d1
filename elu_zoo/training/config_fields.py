"""Fields of configs: their names, their types, and which of them a config must have."""

import json
from typing import Any

from ml_collections import ConfigDict

import elu_zoo.models  # noqa: F401  (registers the networks)
from elu_zoo import errors, registry
from elu_zoo.configs import common
from elu_zoo.data import load

# Arguments of a builder for which a config has other fields, or none.
_GIVEN = (
    "activation batch_norm width num_classes input_shape seed preprocessing conv_dtype"
).split()


def check_fields(config: ConfigDict) -> None:
    """Checks that a config has each field it must have, of its type, and no unknown.

    Raises:
        UsageError: it does not; the message names the fields.
    """
    types = _required(config)
    optional = optional_types(get(config, "model.name"))
    values = {key: get(config, key) for key in types}
    missing = [key for key, value in values.items() if value is None]
    if missing:
        raise errors.UsageError(f"The config has no entry {', '.join(missing)}.")
    for key in flat(json.loads(config.to_json_best_effort())):
        if key in optional:
            types[key], values[key] = optional[key], get(config, key)
        elif key not in types and not key.startswith("model.activation."):
            raise errors.unknown("config entry", key, types | optional)
    for key, value in values.items():
        kind = types[key]
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise errors.UsageError(
                f"The config entry {key} is of type {kind.__name__}. Received: "
                f"{value!r} of type {type(value).__name__}."
            )


def get(config: ConfigDict, key: str) -> Any:
    """Returns the field `a.b` of a config, None where there is none."""
    value: Any = config
    for part in key.split("."):
        if not hasattr(value, "keys") or part not in value:
            return None
        value = value[part]
    return value


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the leaves of nested dicts by their whole names, `a.b`."""
    leaves = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            leaves.update(flat(value, f"{prefix}{key}."))
        else:
            leaves[prefix + key] = value
    return leaves


def _required(config: ConfigDict) -> dict[str, type]:
    """Returns the type of each field that a config must have."""
    types = _types(common.base())
    model = get(config, "model.name")
    # A name that is missing or of another type is refused as a field.
    if isinstance(model, str) and registry.entry(model).is_phased:
        # Without any of them a run is one phase, with the network's own rates.
        of_phases = _types(common.phases())
        if any(get(config, key) is not None for key in of_phases):
            types |= of_phases
    if get(config, "data.name") in load.ENCODED:
        types |= _types(common.encoded_images())
    return types


def optional_types(model: Any) -> dict[str, type]:
    """Returns the type of each field that a config of a network may have."""
    types = _types(common.pretrained()) | _types(common.baselines())
    if not isinstance(model, str):
        return types
    registered = registry.entry(model)
    phased = ("dropout", "dropout_placement") if registered.is_phased else ()
    arguments = {
        f"model.{key}": type(parameter.default)
        for key, parameter in registered.parameters.items()
        if key not in (*_GIVEN, *phased)
    }
    return types | arguments


def _types(fields: ConfigDict, prefix: str = "") -> dict[str, type]:
    types: dict[str, type] = {}
    for key, value in fields.items():
        # An activation may have parameters of its own.
        if isinstance(value, ConfigDict) and key != "activation":
            types |= _types(value, f"{prefix}{key}.")
        else:
            types[prefix + key] = type(value)
    return types
