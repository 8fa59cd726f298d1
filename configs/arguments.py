"""Arguments of a config: `--config=mnist_mlp_8x128:activation=relu,seed=3`."""

import ast
from collections.abc import Iterator
from typing import Any

from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.configs import common


def parse(text: str, **defaults: Any) -> dict[str, Any]:
    """Returns `defaults` updated by the text `key=value,key=value`."""
    values = dict(defaults)
    for part in filter(None, text.split(",")):
        key, separator, value = part.partition("=")
        if not separator:
            raise errors.UsageError(
                "The arguments of a config must be written key=value,key=value. "
                f"Received: {part!r}."
            )
        if key not in defaults:
            raise _unknown(key, value, defaults)
        values[key] = _convert(key, value, defaults[key])
    return values


def field_names(config: ConfigDict, prefix: str = "") -> Iterator[str]:
    """Yields the names of a config's fields, such as `train.batch_size`."""
    for key in config:
        value = config.get(key)
        if isinstance(value, ConfigDict):
            yield from field_names(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def _unknown(key: str, value: str, known: dict[str, Any]) -> errors.UsageError:
    # Of the fields without a group, `schedule` is a label, and others are arguments.
    fields = [x for x in field_names(common.base()) if "." in x and f".{x}".endswith(f".{key}")]
    if len(fields) != 1:
        return errors.unknown_name_error("config argument", key, known)
    value = "..." if value.startswith("(") else value  # the comma has split a tuple
    return errors.UsageError(
        f"Unknown config argument {key!r}. It is a field: set --config.{fields[0]}={value}. "
        f"Known: {', '.join(known)}."
    )


def _convert(key: str, value: str, default: Any) -> Any:
    if isinstance(default, str):
        return value
    try:
        typed = ast.literal_eval(value.title() if isinstance(default, bool) else value)
    except (ValueError, SyntaxError):
        typed = value
    if isinstance(default, float) and type(typed) is int:
        typed = float(typed)
    if type(typed) is not type(default):
        raise errors.UsageError(
            f"The config argument {key} must be of type {type(default).__name__}, such "
            f"as {default!r}. Received: {value!r}."
        )
    return typed
