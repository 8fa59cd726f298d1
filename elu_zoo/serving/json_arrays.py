"""Conversion of JSON values to arrays of the declared type and shape."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from elu_zoo.serving.signature import Tensor, data_type_name
from elu_zoo.serving.status_errors import invalid_argument, shorten

_ASCII_SPACES = dict.fromkeys(map(ord, " \t\n\v\f\r"))  # as `str.translate` removes
# dtype.kind of an input -> dtype kinds of JSON values that may be converted to it.
_KINDS = {"f": "iuf", "i": "iu", "u": "iu"}


def to_array(value: Any, tensor: Tensor, strict: bool) -> np.ndarray:
    """Converts the JSON value of an input to an array.

    Args:
        value: a number, boolean, string or {"b64": ...}, or nested lists of these.
        tensor: declaration of the input.
        strict: whether to check each value's type, because NumPy converts booleans.
    """
    array = None if strict or tensor.is_string else _numbers(value, tensor.dtype)
    if array is None:
        shape = _shape(value)
        # Checked first, because it limits the depth of the recursion.
        tensor.check_shape(shape)
        leaves: list[Any] = []
        _collect(value, shape, leaves, tensor)
        # np.array(leaves) would remove zero bytes at the end of strings.
        array = np.empty(len(leaves), tensor.dtype)
        array[:] = leaves
        array = array.reshape(shape)
    tensor.check_shape(array.shape)
    return array


def _numbers(value: Any, dtype: np.dtype) -> np.ndarray | None:
    """Returns an array of `dtype`, or None if a value is not a number or overflows."""
    try:
        array = np.array(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if array.dtype.kind not in _KINDS.get(dtype.kind, ""):
        return None
    if array.size:
        limit = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        if array.min() < limit.min or array.max() > limit.max:
            return None
    return array.astype(dtype)


def _shape(value: Any) -> list[int]:
    """Returns the shape of nested lists, measured along their first items."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return shape


def _collect(value: Any, shape: Sequence[int], leaves: list[Any], tensor: Tensor) -> None:
    """Appends the values of nested lists of a shape to `leaves`."""
    if not shape:
        leaves.append(_leaf(value, tensor))
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        got = len(value) if isinstance(value, list) else _text(value)
        raise invalid_argument(
            f"The lists of tensor {tensor.name} have different sizes: {shape[0]} and {got}"
        )
    for item in value:
        _collect(item, shape[1:], leaves, tensor)


def _leaf(leaf: Any, tensor: Tensor) -> Any:
    if tensor.is_string and isinstance(leaf, dict):
        return _bytes(leaf)
    if tensor.is_string and isinstance(leaf, str):
        return leaf.encode()
    if not _fits(leaf, tensor.dtype):
        raise invalid_argument(
            f"Values of tensor {tensor.name} must be of type "
            f"{data_type_name(tensor.data_type)}, got {_text(leaf)}"
        )
    return leaf


def _fits(leaf: Any, dtype: np.dtype) -> bool:
    """Returns whether a boolean or a number can be converted to `dtype`."""
    if isinstance(leaf, bool):
        return dtype.kind == "b"
    if dtype.kind == "f" and isinstance(leaf, int | float):
        return abs(leaf) <= float(np.finfo(dtype).max)
    if dtype.kind in "iu" and isinstance(leaf, int):
        return np.iinfo(dtype).min <= leaf <= np.iinfo(dtype).max
    return False


def _bytes(leaf: dict[str, Any]) -> bytes:
    """Returns the content of {"b64": ...}."""
    content = leaf.get("b64")
    if len(leaf) > 1 or not isinstance(content, str):
        raise invalid_argument('base64 data must have the form {"b64": "<text>"}')
    # As in TensorFlow Serving: `base64` and MIME encoders break lines.
    content = content.translate(_ASCII_SPACES)
    if not content.endswith("="):  # padding may be omitted, but not be incomplete
        content += "=" * (-len(content) % 4)
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise invalid_argument("A value cannot be decoded as base64") from None


def _text(value: Any) -> str:
    """Returns a value as JSON for a message, without the content of lists and objects."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return shorten(orjson.dumps(value).decode())
