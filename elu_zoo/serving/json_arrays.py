"""Conversion of JSON values to arrays, with TensorFlow Serving's error messages."""

import base64
import binascii
import itertools
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import orjson

from elu_zoo.serving.signature import Tensor, data_type_name, shape_text
from elu_zoo.serving.status_errors import StatusError, invalid_argument, shorten

_ASCII_SPACES = dict.fromkeys(map(ord, " \t\n\v\f\r"))  # as `str.translate` removes
# dtype.kind of an input -> dtype kinds of JSON values that may be converted to it.
_KINDS = {"f": "iuf", "i": "iu", "u": "iu"}
_JSON_TYPES = {
    type(None): "Null",
    bool: "Boolean",
    dict: "Object",
    list: "Array",
    str: "String",
    int: "Number",
    float: "Number",
}


def to_array(value: Any, tensor: Tensor, strict: bool, row_key: str | None = None) -> np.ndarray:
    """Converts the JSON value of an input to an array.

    Args:
        value: a number, boolean, string or {"b64": ...}, or nested lists of these.
        tensor: declaration of the input.
        strict: whether to check each value's type, because NumPy converts booleans.
        row_key: key for error messages about a row of the row format: the input's name
            if each row is an object, else "". None for the column format.
    """
    array = None if strict or tensor.is_string else _numbers(value, tensor.dtype)
    if array is None:
        leaves: list[Any] = []
        # check_shape runs first, because it limits the depth of the recursion.
        if row_key is None:
            shape = _shape(value)
            tensor.check_shape(shape)
            _collect(value, 0, shape, leaves, tensor)
        else:
            shape = [len(value), *_shape(value[0])]
            tensor.check_shape(shape)
            _collect_rows(value, shape[1:], leaves, tensor, row_key)
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


def row_error(index: int, key: str, message: str) -> StatusError:
    """Returns the error for row `index` of `instances`; `key` may be "" (none)."""
    key = f" key: {shorten(key)}" if key else ""
    return invalid_argument(
        f"Failed to process element: {index}{key} of 'instances' list. Error: "
        f"INVALID_ARGUMENT: {message}"
    )


def _shape(value: Any) -> list[int]:
    """Returns the shape of nested lists, measured along their first items."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return shape


def _collect_rows(
    rows: list[Any], shape: list[int], leaves: list[Any], tensor: Tensor, key: str
) -> None:
    for i, row in enumerate(rows):
        row_shape = _shape(row)
        try:
            if math.prod(row_shape) != math.prod(shape):
                raise invalid_argument(
                    f"Expecting tensor size: {math.prod(shape)} but got: {math.prod(row_shape)}"
                )
            if row_shape != shape:
                raise invalid_argument(
                    f"Expecting shape {shape_text(shape)} but got: {shape_text(row_shape)}"
                )
            _collect(row, 0, shape, leaves, tensor)
        except StatusError as error:
            raise row_error(i, key, error.message) from None


def _collect(
    value: Any, level: int, shape: Sequence[int], leaves: list[Any], tensor: Tensor
) -> None:
    """Appends the values of nested lists to `leaves`; raises at the first error."""
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid_argument(
                f"JSON Value: {json_text(value)} found at incorrect level: "
                f"{level + 1} in the JSON DOM. Expected at level: {len(shape)}"
            )
        leaves.append(_leaf(value, tensor))
        return
    if level >= len(shape):
        raise invalid_argument(
            f"Encountered list at unexpected level: {level} expected < {len(shape)}"
        )
    if len(value) != shape[level]:
        raise invalid_argument(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for item in value:
        _collect(item, level + 1, shape, leaves, tensor)


def _leaf(leaf: Any, tensor: Tensor) -> Any:
    dtype = tensor.dtype
    if tensor.is_string:
        return _bytes(leaf, tensor)
    if dtype.kind == "b":
        if not isinstance(leaf, bool):
            _raise_type_error(leaf, tensor)
    elif isinstance(leaf, bool) or not isinstance(leaf, int | float):
        _raise_type_error(leaf, tensor)
    elif dtype.kind == "f":
        if abs(leaf) > float(np.finfo(dtype).max):
            raise invalid_argument(
                f"Cannot convert JSON value: {json_text(leaf)} to "
                f"{data_type_name(tensor.data_type)} without loss of precision."
            )
    elif isinstance(leaf, float) or not (np.iinfo(dtype).min <= leaf <= np.iinfo(dtype).max):
        _raise_type_error(leaf, tensor)
    return leaf


def _bytes(leaf: Any, tensor: Tensor) -> bytes:
    if isinstance(leaf, str):
        return leaf.encode()
    if not isinstance(leaf, dict):
        _raise_type_error(leaf, tensor)
    if list(leaf) != ["b64"] or not isinstance(leaf["b64"], str):
        raise invalid_argument(
            f"JSON Value: {json_text(leaf)} not formatted correctly for base64 data"
        )
    # As in TensorFlow Serving: `base64` and MIME encoders break lines.
    content = leaf["b64"].translate(_ASCII_SPACES)
    if not content.endswith("="):  # padding may be omitted, but not be incomplete
        content += "=" * (-len(content) % 4)
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise invalid_argument("Unable to base64 decode") from None


def _raise_type_error(leaf: Any, tensor: Tensor) -> NoReturn:
    raise invalid_argument(
        f"JSON Value: {json_text(leaf)} Type: {_JSON_TYPES[type(leaf)]} is not of "
        f"expected type: {data_type_name(tensor.data_type)}"
    )


def json_text(value: Any) -> str:
    """Returns a shortened value as JSON, for an error message."""
    return shorten(orjson.dumps(_prune(value, 5)).decode())


def _prune(value: Any, depth: int) -> Any:
    """Cuts lists and objects to five items and `depth` levels, to write them fast."""
    if isinstance(value, list | dict) and not depth:
        return "..."
    if isinstance(value, list):
        return [_prune(item, depth - 1) for item in value[:5]]
    if isinstance(value, dict):
        items = itertools.islice(value.items(), 5)
        return {shorten(key): _prune(item, depth - 1) for key, item in items}
    return shorten(value) if isinstance(value, str) else value
