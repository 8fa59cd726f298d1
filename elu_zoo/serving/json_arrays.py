"""Values of JSON -> arrays, refused in TensorFlow Serving's words."""

import base64
import binascii
import itertools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import orjson

from elu_zoo.serving.refusals import clipped, invalid
from elu_zoo.serving.signature import Tensor, data_type_name

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


def array(value: Any, tensor: Tensor, strict: bool) -> np.ndarray:
    """Returns the values of an input.

    Args:
        value: numbers, truth values, strings or {"b64": ...}, or nested lists of them.
        tensor: the input.
        strict: look at each value, as a fast conversion could take some for another.

    Raises:
        Refusal: the values do not fit the input.
    """
    dtype = tensor.dtype
    if tensor.is_of_strings:
        found = _array_of_strings(value, tensor)
    else:
        found = None if strict else _numbers(value, dtype)
        if found is None:
            found = _leaf_by_leaf(value, tensor)
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
    largest = np.abs(array, dtype=np.float64).max(initial=0) if array.size else 0
    if dtype.kind == "f":
        # Above, a whole number would be rounded: which ones are whole is not seen here.
        if largest > 2 ** np.finfo(dtype).nmant * 2 - 1:
            return None
    elif array.size:
        limit = np.iinfo(dtype)
        if array.min() < limit.min or array.max() > limit.max:
            return None
    return array.astype(dtype)


def _leaf_by_leaf(value: Any, tensor: Tensor) -> np.ndarray:
    """Returns an array, or refuses the first value that does not fit."""
    shape, leaves = _flat(value, tensor)
    for leaf in leaves:
        _check_number(leaf, tensor)
    return np.array(leaves, tensor.dtype).reshape(shape)


def _array_of_strings(value: Any, tensor: Tensor) -> np.ndarray:
    shape, leaves = _flat(value, tensor)
    array = np.empty(len(leaves), object)
    for i, leaf in enumerate(leaves):
        array[i] = _bytes(leaf, tensor)
    return array.reshape(shape)


def _flat(value: Any, tensor: Tensor) -> tuple[list[int], list[Any]]:
    """Returns the shape and the values of nested lists, which must be regular."""
    shape, inner = [], value
    while isinstance(inner, list):
        shape.append(len(inner))
        if not inner:
            break
        inner = inner[0]
    # Before anything goes as deep as the lists do.
    tensor.check_shape(shape)
    leaves: list[Any] = []
    _collect(value, 0, shape, leaves)
    return shape, leaves


def _collect(value: Any, level: int, shape: Sequence[int], leaves: list[Any]) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid(
                f"JSON Value: {text(value)} found at incorrect level: {level + 1} in "
                f"the JSON DOM. Expected at level: {len(shape)}"
            )
        leaves.append(value)
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
        _collect(item, level + 1, shape, leaves)


def _check_number(leaf: Any, tensor: Tensor) -> None:
    dtype = tensor.dtype
    if dtype.kind == "b":
        if not isinstance(leaf, bool):
            _refuse_type(leaf, tensor)
    elif isinstance(leaf, bool) or not isinstance(leaf, int | float):
        _refuse_type(leaf, tensor)
    elif dtype.kind == "f":
        limit = np.finfo(dtype)
        whole = isinstance(leaf, int)
        if abs(leaf) > (2**limit.nmant * 2 - 1 if whole else float(limit.max)):
            raise invalid(
                f"Cannot convert JSON value: {text(leaf)} to "
                f"{data_type_name(tensor.data_type)} without loss of precision."
            )
    elif isinstance(leaf, float) or not (
        np.iinfo(dtype).min <= leaf <= np.iinfo(dtype).max
    ):
        _refuse_type(leaf, tensor)


def _bytes(leaf: Any, tensor: Tensor) -> bytes:
    if isinstance(leaf, str):
        return leaf.encode()
    if not isinstance(leaf, dict):
        _refuse_type(leaf, tensor)
    if list(leaf) != ["b64"] or not isinstance(leaf["b64"], str):
        raise invalid(
            f"JSON Value: {text(leaf)} not formatted correctly for base64 data"
        )
    try:
        return base64.b64decode(leaf["b64"], validate=True)
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
