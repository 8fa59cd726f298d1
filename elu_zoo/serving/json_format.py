"""JSON <-> arrays, in the row and the column format of TensorFlow Serving's REST.

Texts of refusals are TensorFlow Serving's. Unlike it, NaN and infinities, which are no
JSON, are refused.
"""

import base64
import binascii
import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import orjson

from elu_zoo.serving import refusals
from elu_zoo.serving.refusals import clipped, invalid
from elu_zoo.serving.signature import Arrays, Signature, Tensor, data_type_name

_BYTES = "_bytes"  # ends the names of tensors of bytes, which JSON holds as base64
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


@dataclasses.dataclass(frozen=True)
class Request:
    """What a body asked.

    Attributes:
        signature: which one.
        arrays: its inputs.
        by_row: whether the answer is to be in the row format.
    """

    signature: Signature
    arrays: Arrays
    by_row: bool


def read(body: bytes, signature: Callable[[str], Signature]) -> Request:
    """Returns the request that a body holds.

    Args:
        body: JSON, UTF-8.
        signature: from a signature's name, which may be empty, to the signature.

    Raises:
        Refusal: the body is not JSON, or not of a format, or does not fit.
    """
    document = _parse(body)
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            f"JSON Value: {_text(document)} not formatted correctly. 'signature_name' "
            "key must be a string value."
        )
    found = signature(name)
    if "instances" in document and "inputs" in document:
        raise invalid(
            f"JSON Value: {_text(document)} Not formatted correctly expecting only "
            "one of 'inputs' or 'instances' keys to exist "
        )
    strict = _may_hold_more_than_numbers(body, document)
    if "instances" in document:
        return Request(found, _rows(document, found, strict), by_row=True)
    if "inputs" in document:
        return Request(found, _columns(document["inputs"], found, strict), by_row=False)
    raise invalid("Missing 'inputs' or 'instances' key")


def write(outputs: Arrays, signature: Signature, *, by_row: bool) -> bytes:
    """Returns the body of an answer.

    Raises:
        Refusal: in the row format, outputs without a common number of examples.
    """
    values = {
        name: _strings(array.tolist(), name.endswith(_BYTES))
        if array.dtype == object
        else np.ascontiguousarray(array).reshape(array.shape)[()]
        for name, array in outputs.items()
    }
    if not by_row:
        content = values if len(values) > 1 else next(iter(values.values()))
        return orjson.dumps({"outputs": content}, option=orjson.OPT_SERIALIZE_NUMPY)
    sizes = {array.shape[:1] for array in outputs.values()}
    if len(sizes) != 1 or sizes == {()}:
        raise invalid(
            f"Outputs {','.join(signature.outputs)} have inconsistent batch size"
        )
    if len(values) == 1:
        rows = next(iter(values.values()))
    else:
        rows = [
            dict(zip(values, row, strict=True))
            for row in zip(*values.values(), strict=True)
        ]
    return orjson.dumps({"predictions": rows}, option=orjson.OPT_SERIALIZE_NUMPY)


def _parse(body: bytes) -> dict[str, Any]:
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    if not isinstance(document, dict):
        raise invalid(f"JSON Value: {_text(document)} Is not object")
    return document


def _may_hold_more_than_numbers(body: bytes, document: dict[str, Any]) -> bool:
    """Says whether a fast conversion could take something else for a number.

    It would take truth values, and make room for the longest string in place of every
    number; a string among the values shows in more quotation marks than those of keys.
    """
    values = document.get("instances", document.get("inputs"))
    rows = values if isinstance(values, list) else [values]
    keys = len(document)
    if rows and isinstance(rows[0], dict):
        keys += sum(len(row) for row in rows if isinstance(row, dict))
    names = 2 * ("signature_name" in document)
    marks = body.count(b'"') - names
    return marks > 2 * keys or b"true" in body or b"false" in body


def _rows(document: dict[str, Any], signature: Signature, strict: bool) -> Arrays:
    rows = document["instances"]
    if not isinstance(rows, list):
        raise invalid(
            f"JSON Value: {_text(document)} Excepting 'instances' to be an list/array"
        )
    if not rows:
        raise invalid(f"JSON Value: {_text(document)} No values in 'instances' array")
    names = list(signature.inputs)
    of_objects = _is_object(rows[0])
    if not of_objects and len(names) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple "
            "input tensors required as per tensorinfo_map"
        )
    for i, row in enumerate(rows):
        if _is_object(row) != of_objects:
            raise invalid(
                f"Expecting object but got list at item {i} of input list"
                if of_objects
                else f"Expecting value/list but got object at item {i} of input list"
            )
        if of_objects and set(row) != set(names):
            raise invalid(
                f"Failed to process element: {i} of 'instances' list. JSON object: "
                f"{_text(row)} keys must be equal to: {','.join(names)}"
            )
    columns = {name: [row[name] for row in rows] if of_objects else rows
               for name in names}  # fmt: skip
    return {
        name: _array(columns[name], tensor, strict)
        for name, tensor in signature.inputs.items()
    }


def _columns(content: Any, signature: Signature, strict: bool) -> Arrays:
    names = list(signature.inputs)
    if not _is_object(content):
        if len(names) != 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple "
                "input tensors required as per tensorinfo_map"
            )
        content = {names[0]: content}
    for name in names:
        if name not in content:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
    return {
        name: _array(content[name], tensor, strict)
        for name, tensor in signature.inputs.items()
    }


def _is_object(value: Any) -> bool:
    is_base64 = isinstance(value, dict) and list(value) == ["b64"]
    return isinstance(value, dict) and not is_base64


def _array(value: Any, tensor: Tensor, strict: bool) -> np.ndarray:
    dtype = tensor.dtype
    if tensor.is_of_strings:
        array = _array_of_strings(value, tensor)
    else:
        array = None if strict else _numbers(value, dtype)
        if array is None:
            array = _leaf_by_leaf(value, tensor)
    tensor.check_shape(array.shape)
    return array


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
                f"JSON Value: {_text(value)} found at incorrect level: {level + 1} in "
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
                f"Cannot convert JSON value: {_text(leaf)} to "
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
            f"JSON Value: {_text(leaf)} not formatted correctly for base64 data"
        )
    try:
        return base64.b64decode(leaf["b64"], validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Unable to base64 decode") from None


def _refuse_type(leaf: Any, tensor: Tensor) -> NoReturn:
    raise refusals.invalid(
        f"JSON Value: {_text(leaf)} Type: {_JSON_TYPES[type(leaf)]} is not of expected "
        f"type: {data_type_name(tensor.data_type)}"
    )


def _strings(value: Any, as_base64: bool) -> Any:
    if isinstance(value, list):
        return [_strings(item, as_base64) for item in value]
    if as_base64:
        return {"b64": base64.b64encode(value).decode()}
    return value.decode(errors="replace")


def _text(value: Any) -> str:
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
