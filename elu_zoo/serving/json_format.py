"""JSON requests and responses, in TensorFlow Serving's row and column formats.

The parser rejects NaN and infinities, which are not JSON, although TensorFlow Serving accepts them.
"""

import base64
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson

from elu_zoo.serving.json_arrays import to_array
from elu_zoo.serving.signature import BYTES, Arrays, Signature
from elu_zoo.serving.status_errors import invalid_argument, too_many_examples


@dataclasses.dataclass(frozen=True)
class Request:
    """A parsed request body."""

    signature: Signature
    arrays: Arrays
    by_row: bool  # whether the request and its response are in the row format


def read(body: bytearray, signature: Callable[[str], Signature], max_examples: int) -> Request:
    """Parses a request body; `signature` gets a name, which may be empty."""
    document = _parse(body)
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid_argument("'signature_name' must be a string")
    if ("instances" in document) == ("inputs" in document):
        raise invalid_argument("The body must have one of the keys 'instances' and 'inputs'")
    chosen = signature(name)
    strict = _may_hold_more_than_numbers(body, document)
    by_row = "instances" in document
    columns = _rows(document["instances"], chosen) if by_row else document["inputs"]
    return Request(chosen, _arrays(columns, chosen, max_examples, strict), by_row)


def write(outputs: Arrays, signature: Signature, by_row: bool) -> bytes:
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


def _parse(body: bytearray) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise invalid_argument(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    if not isinstance(document, dict):
        raise invalid_argument("The body must be a JSON object")
    return document


def _may_hold_more_than_numbers(body: bytearray, document: dict[str, Any]) -> bool:
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


def _rows(rows: Any, signature: Signature) -> Any:
    """Returns the content of `instances` in the form of `inputs`."""
    if not (isinstance(rows, list) and rows):
        raise invalid_argument("'instances' must be a list with at least one item")
    if not any(_is_object(row) for row in rows):
        return rows
    for i, row in enumerate(rows):
        if not (_is_object(row) and set(row) == set(signature.inputs)):
            raise invalid_argument(f"Item {i} of 'instances' {_keys_text(signature)}")
    return {name: [row[name] for row in rows] for name in signature.inputs}


def _arrays(columns: Any, signature: Signature, max_examples: int, strict: bool) -> Arrays:
    names = list(signature.inputs)
    if not _is_object(columns) and len(names) == 1:
        columns = {names[0]: columns}
    # TensorFlow Serving ignores other keys, too.
    if not (_is_object(columns) and set(columns) >= set(names)):
        raise invalid_argument(f"The inputs {_keys_text(signature)}")
    for value in map(columns.get, names):
        if signature.is_batched and isinstance(value, list) and len(value) > max_examples:
            raise too_many_examples(len(value), max_examples)
    return {
        name: to_array(columns[name], tensor, strict) for name, tensor in signature.inputs.items()
    }


def _keys_text(signature: Signature) -> str:
    return f"must be an object with the keys {', '.join(signature.inputs) or '(none)'}"


def _is_object(value: Any) -> bool:
    """Returns whether a value is a JSON object that is not base64 data."""
    return isinstance(value, dict) and list(value) != ["b64"]


def _strings(value: Any, as_base64: bool) -> Any:
    if isinstance(value, list):
        return [_strings(item, as_base64) for item in value]
    if as_base64:
        return {"b64": base64.b64encode(value).decode()}
    return value.decode(errors="replace")
