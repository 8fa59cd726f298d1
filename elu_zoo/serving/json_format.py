"""JSON requests and responses, in TensorFlow Serving's row and column formats.

Error messages are those of TensorFlow Serving. The parser rejects NaN and infinities,
which are not JSON, although TensorFlow Serving accepts them.
"""

import base64
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson

from elu_zoo.serving.json_arrays import json_text, row_error, to_array
from elu_zoo.serving.signature import BYTES, Arrays, Signature
from elu_zoo.serving.status_errors import invalid_argument, shorten, too_many_examples


@dataclasses.dataclass(frozen=True)
class Request:
    """A parsed request body.

    Attributes:
        signature: signature to run.
        arrays: inputs, by name.
        by_row: whether the request and its response are in the row format.
    """

    signature: Signature
    arrays: Arrays
    by_row: bool


def read(body: bytes, signature: Callable[[str], Signature], max_examples: int) -> Request:
    """Parses a request body.

    Args:
        body: JSON in UTF-8.
        signature: function from a name, which may be empty, to the signature.
        max_examples: largest number of examples in a request.
    """
    document = _parse(body)
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid_argument(
            f"JSON Value: {json_text(document)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    chosen = signature(name)
    if "instances" in document and "inputs" in document:
        raise invalid_argument(
            f"JSON Value: {json_text(document)} Not formatted correctly expecting "
            "only one of 'inputs' or 'instances' keys to exist "
        )
    _check_examples(document, chosen, max_examples)
    strict = _may_hold_more_than_numbers(body, document)
    if "instances" in document:
        return Request(chosen, _rows(document, chosen, strict), by_row=True)
    if "inputs" in document:
        arrays = _columns(document["inputs"], chosen, strict)
        return Request(chosen, arrays, by_row=False)
    raise invalid_argument("Missing 'inputs' or 'instances' key")


def write(outputs: Arrays, signature: Signature, *, by_row: bool) -> bytes:
    """Returns the body of a response."""
    values = {
        name: _strings(array.tolist(), name.endswith(BYTES))
        if array.dtype == object
        else np.ascontiguousarray(array).reshape(array.shape)[()]
        for name, array in outputs.items()
    }
    if not by_row:
        content = values if len(values) > 1 else next(iter(values.values()))
        return orjson.dumps({"outputs": content}, option=orjson.OPT_SERIALIZE_NUMPY)
    sizes = {array.shape[:1] for array in outputs.values()}
    if len(sizes) != 1 or sizes == {()}:
        raise invalid_argument(
            f"Outputs {','.join(signature.outputs)} have inconsistent batch size"
        )
    if len(values) == 1:
        rows = next(iter(values.values()))
    else:
        rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return orjson.dumps({"predictions": rows}, option=orjson.OPT_SERIALIZE_NUMPY)


def _parse(body: bytes) -> dict[str, Any]:
    if not body:
        raise invalid_argument("JSON Parse error: The document is empty")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise invalid_argument(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    if not isinstance(document, dict):
        raise invalid_argument(f"JSON Value: {json_text(document)} Is not object")
    return document


def _may_hold_more_than_numbers(body: bytes, document: dict[str, Any]) -> bool:
    """Returns whether the values may contain booleans or strings.

    NumPy would convert booleans to numbers, and would allocate the length of the
    longest string for each value. Quotation marks beyond those of keys mark strings.
    """
    values = document.get("instances", document.get("inputs"))
    rows = values if isinstance(values, list) else [values]
    keys = len(document)
    if rows and isinstance(rows[0], dict):
        keys += sum(len(row) for row in rows if isinstance(row, dict))
    name_marks = 2 if "signature_name" in document else 0
    marks = body.count(b'"') - name_marks
    return marks > 2 * keys or b"true" in body or b"false" in body


def _check_examples(document: dict[str, Any], signature: Signature, max_examples: int) -> None:
    inputs = document.get("inputs")
    values = inputs.values() if _is_object(inputs) else [inputs]
    for value in document.get("instances"), *values:
        if not (signature.is_batched and isinstance(value, list)):
            continue
        if len(value) > max_examples:
            raise too_many_examples(len(value), max_examples)


def _rows(document: dict[str, Any], signature: Signature, strict: bool) -> Arrays:
    rows = document["instances"]
    if not isinstance(rows, list):
        raise invalid_argument(
            f"JSON Value: {json_text(document)} Excepting 'instances' to be an list/array"
        )
    if not rows:
        raise invalid_argument(f"JSON Value: {json_text(document)} No values in 'instances' array")
    names = list(signature.inputs)
    has_names = _is_object(rows[0])
    if not has_names and len(names) > 1:
        raise invalid_argument(
            "instances is a plain list, but expecting list of objects as multiple "
            "input tensors required as per tensorinfo_map"
        )
    for i, row in enumerate(rows):
        if _is_object(row) != has_names:
            raise invalid_argument(
                f"Expecting object but got list at item {i} of input list"
                if has_names
                else f"Expecting value/list but got object at item {i} of input list"
            )
        for name in row if has_names else ():
            if name not in signature.inputs:
                message = f"JSON object: does not have named input: {shorten(name)}"
                raise row_error(i, name, message)
        if has_names and set(row) != set(names):
            raise invalid_argument(
                f"Failed to process element: {i} of 'instances' list. JSON object: "
                f"{json_text(row)} keys must be equal to: {','.join(names)}"
            )
    arrays = {}
    for name, tensor in signature.inputs.items():
        values = [row[name] for row in rows] if has_names else rows
        arrays[name] = to_array(values, tensor, strict, name if has_names else "")
    return arrays


def _columns(content: Any, signature: Signature, strict: bool) -> Arrays:
    names = list(signature.inputs)
    if not _is_object(content):
        if len(names) != 1:
            raise invalid_argument(
                "inputs is a plain value/list, but expecting an object as multiple "
                "input tensors required as per tensorinfo_map"
            )
        content = {names[0]: content}
    for name in names:
        if name not in content:
            raise invalid_argument(f"Missing named input: {name} in 'inputs' object.")
    return {
        name: to_array(content[name], tensor, strict) for name, tensor in signature.inputs.items()
    }


def _is_object(value: Any) -> bool:
    """Returns whether a value is a JSON object that is not base64 data."""
    return isinstance(value, dict) and list(value) != ["b64"]


def _strings(value: Any, as_base64: bool) -> Any:
    if isinstance(value, list):
        return [_strings(item, as_base64) for item in value]
    if as_base64:
        return {"b64": base64.b64encode(value).decode()}
    return value.decode(errors="replace")
