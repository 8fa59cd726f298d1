"""Names and types of the fields that a config must have, or may have."""

import json
from typing import Any

from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.configs import common
from elu_zoo.data import load

# Arguments that every builder has. The other arguments of a builder are optional fields
# of the config's section `model`.
_COMMON_ARGUMENTS = (
    "activation batch_norm width num_classes input_shape seed preprocessing conv_dtype"
).split()


def check_fields(config: ConfigDict) -> None:
    """Checks the names and types of a config's fields."""
    types = _required(config)
    optional = optional_types(get(config, "model.name"))
    values = {key: get(config, key) for key in types}
    missing = [key for key, value in values.items() if value is None]
    if missing:
        raise errors.UsageError(
            f"Entries of the config are missing: {', '.join(missing)}. Add them, as in "
            "elu_zoo.configs.common."
        )
    for key, value in flat(json.loads(config.to_json_best_effort())).items():
        if "unserializable object: " in json.dumps(value):
            raise errors.UsageError(
                f"The config entry {key} must hold Python's numbers and strings. "
                f"Received: {get(config, key)!r}. Use int() or float()."
            )
        if key in optional:
            types[key], values[key] = optional[key], get(config, key)
        elif key not in types and not key.startswith("model.activation."):
            raise errors.unknown("config entry", key, types | optional)
    for key, value in values.items():
        kind = types[key]
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind not in (bool, object)):
            raise errors.UsageError(
                f"The config entry {key} must be of type {kind.__name__}. Received: "
                f"{value!r} of type {type(value).__name__}."
            )


def get(config: ConfigDict, key: str) -> Any:
    """Returns the value of the field `a.b`, or None if the config has no such field."""
    value: Any = config
    for part in key.split("."):
        if not hasattr(value, "keys") or part not in value:
            return None
        value = value[part]
    return value


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the leaves of nested dicts, by names such as `a.b`."""
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
    # `check_fields` refuses a name that is missing or is not a string.
    if isinstance(model, str) and registry.entry(model).is_phased:
        # A config without these fields has one phase, with the builder's dropout rates.
        phase_types = _types(common.phases())
        if any(get(config, key) is not None for key in phase_types):
            types |= phase_types
    if get(config, "data.name") in load.ENCODED:
        types |= _types(common.encoded_images())
    return types


def optional_types(model: Any) -> dict[str, type]:
    """Returns the type of each field that a config of the network `model` may have."""
    types = _types(common.pretrained()) | _types(common.baselines())
    if not isinstance(model, str):
        return types
    registered = registry.entry(model)
    phased = ("dropout", "dropout_placement") if registered.is_phased else ()
    arguments = {
        # A default of None does not tell a type.
        f"model.{key}": object if parameter.default is None else type(parameter.default)
        for key, parameter in registered.parameters.items()
        if key not in (*_COMMON_ARGUMENTS, *phased)
    }
    return types | arguments


def _types(fields: ConfigDict, prefix: str = "") -> dict[str, type]:
    types: dict[str, type] = {}
    for key, value in fields.items():
        # The fields of `model.activation` depend on the activation's name.
        if isinstance(value, ConfigDict) and key != "activation":
            types |= _types(value, f"{prefix}{key}.")
        else:
            types[prefix + key] = type(value)
    return types
