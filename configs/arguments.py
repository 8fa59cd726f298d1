"""Arguments of a config: `--config=mnist_mlp_8x128:activation=relu,seed=3`."""

import ast
from typing import Any

from elu_zoo import errors


def parse(text: str, **defaults: Any) -> dict[str, Any]:
    """Returns `defaults` updated by the text `key=value,key=value`.

    Raises:
        UsageError: a key is unknown, or a value has another type than the default.
    """
    values = dict(defaults)
    for part in filter(None, text.split(",")):
        key, separator, value = part.partition("=")
        if not separator:
            raise errors.UsageError(
                "The arguments of a config must be written key=value,key=value. "
                f"Received: {part!r}."
            )
        if key not in defaults:
            raise errors.unknown("config argument", key, defaults)
        values[key] = _convert(key, value, defaults[key])
    return values


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
