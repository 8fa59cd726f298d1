"""Values of JSON -> arrays, refused in TensorFlow Serving's words."""

import base64
import binascii
import itertools
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import orjson

from elu_zoo.serving.refusals import Refusal, clipped, invalid
from elu_zoo.serving.signature import Tensor, data_type_name, shape_text

# Which kinds of array may become one of a kind, here in one go.
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


def array(
    value: Any, tensor: Tensor, strict: bool, row_key: str | None = None
) -> np.ndarray:
    """Returns the values of an input.

    Args:
        value: numbers, truth values, strings or {"b64": ...}, or nested lists of them.
        tensor: the input.
        strict: look at each value, as a fast conversion could take some for another.
        row_key: of a list of rows, what refusals call a row's value: the input's name
            where the rows are objects, else empty; None for a column.

    Raises:
        Refusal: the values do not fit the input.
    """
    found = None if strict or tensor.is_of_strings else _numbers(value, tensor.dtype)
    if found is None:
        leaves: list[Any] = []
        if row_key is None:
            shape = _shape(value)
            # Before anything goes as deep as the lists do.
            tensor.check_shape(shape)
            _collect(value, 0, shape, leaves, tensor)
        else:
            shape = [len(value), *_shape(value[0])]
            tensor.check_shape(shape)
            _collect_rows(value, shape[1:], leaves, tensor, row_key)
        # Not np.array(leaves), which cuts zeros off the end of bytes.
        found = np.empty(len(leaves), tensor.dtype)
        found[:] = leaves
        found = found.reshape(shape)
    tensor.check_shape(found.shape)
    return found


def _numbers(value: Any, dtype: np.dtype) -> np.ndarray | None:
    """Returns an array, or None unless all values are numbers that `dtype` can hold."""
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


def in_row(index: int, key: str, message: str) -> Refusal:
    """Returns the refusal of a row of `instances`, of its value `key` if not empty."""
    key = f" key: {clipped(key)}" if key else ""
    return invalid(
        f"Failed to process element: {index}{key} of 'instances' list. Error: "
        f"INVALID_ARGUMENT: {message}"
    )


def _shape(value: Any) -> list[int]:
    """Returns the shape of nested lists, if they are regular."""
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
        found = _shape(row)
        try:
            if math.prod(found) != math.prod(shape):
                raise invalid(
                    f"Expecting tensor size: {math.prod(shape)} but got: "
                    f"{math.prod(found)}"
                )
            if found != shape:
                raise invalid(
                    f"Expecting shape {shape_text(shape)} but got: {shape_text(found)}"
                )
            _collect(row, 0, shape, leaves, tensor)
        except Refusal as refusal:
            raise in_row(i, key, refusal.message) from None


def _collect(
    value: Any, level: int, shape: Sequence[int], leaves: list[Any], tensor: Tensor
) -> None:
    """Appends the values of nested lists, or refuses the first that does not fit."""
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid(
                f"JSON Value: {text(value)} found at incorrect level: {level + 1} in "
                f"the JSON DOM. Expected at level: {len(shape)}"
            )
        leaves.append(_leaf(value, tensor))
        return
    if level >= len(shape):
        raise invalid(
            f"Encountered list at unexpected level: {level} expected < {len(shape)}"
        )
    if len(value) != shape[level]:
        raise invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for item in value:
        _collect(item, level + 1, shape, leaves, tensor)


def _leaf(leaf: Any, tensor: Tensor) -> Any:
    dtype = tensor.dtype
    if tensor.is_of_strings:
        return _bytes(leaf, tensor)
    if dtype.kind == "b":
        if not isinstance(leaf, bool):
            _refuse_type(leaf, tensor)
    elif isinstance(leaf, bool) or not isinstance(leaf, int | float):
        _refuse_type(leaf, tensor)
    elif dtype.kind == "f":
        if abs(leaf) > float(np.finfo(dtype).max):
            raise invalid(
                f"Cannot convert JSON value: {text(leaf)} to "
                f"{data_type_name(tensor.data_type)} without loss of precision."
            )
    elif isinstance(leaf, float) or not (
        np.iinfo(dtype).min <= leaf <= np.iinfo(dtype).max
    ):
        _refuse_type(leaf, tensor)
    return leaf


def _bytes(leaf: Any, tensor: Tensor) -> bytes:
    if isinstance(leaf, str):
        return leaf.encode()
    if not isinstance(leaf, dict):
        _refuse_type(leaf, tensor)
    if list(leaf) != ["b64"] or not isinstance(leaf["b64"], str):
        raise invalid(
            f"JSON Value: {text(leaf)} not formatted correctly for base64 data"
        )
    content = leaf["b64"]
    if not content.endswith("="):  # the padding is whole, or left out
        content += "=" * (-len(content) % 4)
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Unable to base64 decode") from None


def _refuse_type(leaf: Any, tensor: Tensor) -> NoReturn:
    raise invalid(
        f"JSON Value: {text(leaf)} Type: {_JSON_TYPES[type(leaf)]} is not of expected "
        f"type: {data_type_name(tensor.data_type)}"
    )


def text(value: Any) -> str:
    """Returns the beginning of a value as JSON, for a message."""
    return clipped(orjson.dumps(_pruned(value, 5)).decode())


def _pruned(value: Any, depth: int) -> Any:
    """Returns the beginning of a value: all of a large one would take long to write."""
    if isinstance(value, list | dict) and not depth:
        return "..."
    if isinstance(value, list):
        return [_pruned(item, depth - 1) for item in value[:5]]
    if isinstance(value, dict):
        items = itertools.islice(value.items(), 5)
        return {clipped(key): _pruned(item, depth - 1) for key, item in items}
    return clipped(value) if isinstance(value, str) else value
