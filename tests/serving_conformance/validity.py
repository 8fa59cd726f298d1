"""Says which requests are valid, written without a look at the server's code."""

import base64
import binascii
import dataclasses
import json
import re
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from served import Model
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import predict_pb2

LARGEST_BATCH = 64
_FLOAT_MAX = float(np.finfo("float32").max)


@dataclasses.dataclass(frozen=True)
class Valid:
    """What a valid request asks for.

    Attributes:
        signature: its name, in full.
        inputs: the array of the signature's one input, by its name.
        outputs: names; all of them when empty.
    """

    signature: str
    inputs: dict[str, np.ndarray]
    outputs: tuple[str, ...] = ()


class _Invalid(Exception):
    pass


def of_path(method: str, path: str, model: Model) -> str | None:
    """Returns "predict", "get" for a status, or None for a path without an answer."""
    version = rf"(/versions/{model.version})?"
    if method == "POST" and re.fullmatch(f"{model.path}{version}:predict", path):
        return "predict"
    if method == "GET" and re.fullmatch(f"{model.path}{version}(/metadata)?", path):
        return "get"
    return None


def of_json(body: bytes, model: Model) -> Valid | None:
    """Returns what a body for `model` asks, or None."""
    try:
        document = json.loads(body.decode(), parse_constant=_refuse)
        json.dumps(document, ensure_ascii=False).encode()  # no half of a surrogate pair
        return _of_document(document, model)
    except (_Invalid, ValueError, RecursionError):
        return None


def _refuse(*_):
    raise _Invalid


def _check(condition: bool) -> None:
    if not condition:
        raise _Invalid


def _of_document(document: Any, model: Model) -> Valid:
    _check(isinstance(document, dict))
    signature = document.get("signature_name", "")
    _check(isinstance(signature, str))
    signature = signature or "serving_default"
    _check(signature in model.outputs)
    name = "image_bytes" if signature == "serve_bytes" else "images"
    _check(("instances" in document) != ("inputs" in document))
    if "instances" in document:
        values = document["instances"]
        _check(isinstance(values, list))
        if values and isinstance(values[0], dict) and set(values[0]) != {"b64"}:
            _check(all(isinstance(v, dict) and set(v) == {name} for v in values))
            values = [value[name] for value in values]
    else:
        values = document["inputs"]
        if isinstance(values, dict) and set(values) != {"b64"}:
            _check(name in values)
            values = values[name]
    _check(isinstance(values, list) and 1 <= len(values) <= LARGEST_BATCH)
    if signature == "serve_bytes":
        return Valid(signature, {name: _files([_file(v) for v in values], model)})
    images = [_numbers(value, model.shape) for value in values]
    return Valid(signature, {name: np.array(images, "float32")})


def _numbers(value: Any, shape: tuple[int, ...]) -> Any:
    if shape:
        _check(isinstance(value, list) and len(value) == shape[0])
        return [_numbers(item, shape[1:]) for item in value]
    _check(type(value) in (int, float))
    _check(abs(value) <= _FLOAT_MAX)
    return float(value)


def _file(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    _check(isinstance(value, dict) and set(value) == {"b64"})
    _check(isinstance(value["b64"], str))
    content = value["b64"]
    if "=" not in content:
        content += "=" * (-len(content) % 4)
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise _Invalid from None


def _files(contents: list[bytes], model: Model) -> np.ndarray:
    for content in contents:
        try:
            tf.io.decode_image(content, 3, expand_animations=False)
        except tf.errors.InvalidArgumentError:
            raise _Invalid from None
    found = np.empty(len(contents), object)
    found[:] = contents
    return found


def of_message(content: bytes, model: Model) -> Valid | None:
    """Returns what the bytes of a PredictRequest ask of `model`, or None."""
    try:
        return _of_message(predict_pb2.PredictRequest.FromString(content), model)
    except (_Invalid, DecodeError):
        return None


def _of_message(request: predict_pb2.PredictRequest, model: Model) -> Valid:
    spec = request.model_spec
    _check(spec.name == model.name and not spec.version_label)
    _check(not spec.HasField("version") or spec.version.value == model.version)
    signature = spec.signature_name or "serving_default"
    _check(signature in model.outputs)
    outputs = tuple(request.output_filter)
    _check(set(outputs) <= set(model.outputs[signature]))
    _check(len(outputs) == len(set(outputs)))
    name = "image_bytes" if signature == "serve_bytes" else "images"
    _check(set(request.inputs) == {name})
    tensor = request.inputs[name]
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    _check(not tensor.tensor_shape.unknown_rank)
    _check(len(shape) > 0 and 1 <= shape[0] <= LARGEST_BATCH)
    if signature == "serve_bytes":
        _check(tensor.dtype == types_pb2.DT_STRING and len(shape) == 1)
        _check(not tensor.tensor_content and len(tensor.string_val) == shape[0])
        return Valid(signature, {name: _files(list(tensor.string_val), model)}, outputs)
    _check(tensor.dtype == types_pb2.DT_FLOAT and shape[1:] == model.shape)
    count = int(np.prod(shape))
    if tensor.tensor_content:
        _check(len(tensor.tensor_content) == 4 * count)
        values = np.frombuffer(tensor.tensor_content, "<f4")
    else:
        _check(len(tensor.float_val) == count)
        values = np.array(tensor.float_val, "float32")
    _check(bool(np.isfinite(values).all()))
    return Valid(signature, {name: values.reshape(shape)}, outputs)
