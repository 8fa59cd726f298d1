"""JSON <-> arrays, in the row and the column format of TensorFlow Serving's REST.

Texts of refusals are TensorFlow Serving's. Unlike it, NaN and infinities, which are no
JSON, are refused.
"""

import base64
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson

from elu_zoo.serving import refusals
from elu_zoo.serving.json_arrays import array, in_row, text
from elu_zoo.serving.refusals import clipped, invalid
from elu_zoo.serving.signature import BYTES, Arrays, Signature


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


def read(
    body: bytes, signature: Callable[[str], Signature], most_examples: int
) -> Request:
    """Returns the request that a body holds.

    Args:
        body: JSON, UTF-8.
        signature: from a signature's name, which may be empty, to the signature.
        most_examples: more are refused before they are converted.

    Raises:
        Refusal: the body is not JSON, or not of a format, or does not fit.
    """
    document = _parse(body)
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            f"JSON Value: {text(document)} not formatted correctly. 'signature_name' "
            "key must be a string value."
        )
    found = signature(name)
    if "instances" in document and "inputs" in document:
        raise invalid(
            f"JSON Value: {text(document)} Not formatted correctly expecting only "
            "one of 'inputs' or 'instances' keys to exist "
        )
    _check_examples(document, found, most_examples)
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
        raise invalid(f"JSON Value: {text(document)} Is not object")
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


def _check_examples(document: dict[str, Any], signature: Signature, most: int) -> None:
    inputs = document.get("inputs")
    values = inputs.values() if _is_object(inputs) else [inputs]
    for value in document.get("instances"), *values:
        if signature.is_batched and isinstance(value, list) and len(value) > most:
            raise refusals.too_many(len(value), most)


def _rows(document: dict[str, Any], signature: Signature, strict: bool) -> Arrays:
    rows = document["instances"]
    if not isinstance(rows, list):
        raise invalid(
            f"JSON Value: {text(document)} Excepting 'instances' to be an list/array"
        )
    if not rows:
        raise invalid(f"JSON Value: {text(document)} No values in 'instances' array")
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
        for name in row if of_objects else ():
            if name not in signature.inputs:
                message = f"JSON object: does not have named input: {clipped(name)}"
                raise in_row(i, name, message)
        if of_objects and set(row) != set(names):
            raise invalid(
                f"Failed to process element: {i} of 'instances' list. JSON object: "
                f"{text(row)} keys must be equal to: {','.join(names)}"
            )
    columns = {name: [row[name] for row in rows] if of_objects else rows
               for name in names}  # fmt: skip
    return {
        name: array(columns[name], tensor, strict, name if of_objects else "")
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
        name: array(content[name], tensor, strict)
        for name, tensor in signature.inputs.items()
    }


def _is_object(value: Any) -> bool:
    is_base64 = isinstance(value, dict) and list(value) == ["b64"]
    return isinstance(value, dict) and not is_base64


def _strings(value: Any, as_base64: bool) -> Any:
    if isinstance(value, list):
        return [_strings(item, as_base64) for item in value]
    if as_base64:
        return {"b64": base64.b64encode(value).decode()}
    return value.decode(errors="replace")
