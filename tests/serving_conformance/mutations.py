"""Requests that are wrong in one way or another, from a seed."""

import base64
import copy
import dataclasses
import json

import numpy as np
import tensorflow as tf
import validity
from pictures_to_send import png
from served import PREDICT, Model, predict_request
from tensorflow_serving.apis import predict_pb2


@dataclasses.dataclass(frozen=True)
class Http:
    """An HTTP request; `valid` is what it asks, "get" for a status, or None."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    valid: validity.Valid | str | None


@dataclasses.dataclass(frozen=True)
class Rpc:
    """An RPC; `valid` is what it asks, or None."""

    method: str
    content: bytes
    valid: validity.Valid | None


def make(seed: int, index: int, model: Model) -> Http | Rpc:
    """Returns request number `index`, by turns over HTTP and gRPC."""
    random = np.random.default_rng((seed, index))
    kinds = _RPCS if index % 2 else _HTTPS
    return kinds[random.integers(len(kinds))](random, model)


def _pick(random, values):
    return values[random.integers(len(values))]


def _images(random, model):
    return random.integers(0, 10, (random.integers(1, 3), *model.shape))


def _document(random, model):
    """Returns a valid request in one of the formats."""
    images = _images(random, model)
    if random.random() < 0.2:
        files = [{"b64": base64.b64encode(png(x)).decode()} for x in images]
        key = _pick(random, ["instances", "inputs"])
        return {"signature_name": "serve_bytes", key: files}
    x = images.tolist()
    return _pick(
        random,
        [
            {"instances": x},
            {"instances": [{"images": image} for image in x]},
            {"inputs": x},
            {"signature_name": "serving_default", "inputs": {"images": x}},
        ],
    )


def _post(body, model, headers=None):
    path = f"{model.path}:predict"
    return Http("POST", path, headers or {}, body, validity.of_json(body, model))


def _random_bytes(random):
    return random.bytes(random.integers(0, 300))


def _random_body(random, model):
    return _post(_random_bytes(random), model)


def _mutated_bytes(random, content, times):
    """Deletes, doubles, flips, replaces or cuts bytes."""
    content = bytearray(content)
    for _ in range(random.integers(1, times + 1)):
        if not content:
            break
        # The beginning holds the structure, the rest is pixels.
        end = len(content) if random.random() < 0.5 else min(60, len(content))
        i = random.integers(end)
        kind = random.integers(5)
        if kind == 0:
            del content[i]
        elif kind == 1:
            content[i:i] = content[i : i + random.integers(1, 9)]
        elif kind == 2:
            content[i] ^= 1 << random.integers(8)
        elif kind == 3:
            content[i] = random.integers(256)
        else:
            del content[i:]
    return bytes(content)


def _mutated_text(random, model):
    body = json.dumps(_document(random, model)).encode()
    return _post(_mutated_bytes(random, body, 4), model)


_DEEP = "@deep"
_LITERALS = (
    "NaN", "Infinity", "-Infinity", "1e39", "-1e39", "1e400", "1E-400", "-0", "01",
    "1.", ".5", "+1", "0x1", "1_0", "16777215", "16777216", "16777217", "3.4028234e38",
    "3.4028236e38", "9" * 19, "9" * 30, "9" * 39, "9" * 5000, "-" + "9" * 19, "null",
    "true", "false", '""', '"1"', '"\\ud800"', '"\\u0000"', '"😀 ñ"', '"\u202e"',
    "[]", "{}", "[1]", "[[1], [2]]", '{"b64": "AA=="}', '{"b64": 1}', '{"images": 1}',
    "undefined", "'1'", "/**/1", '"' + "a" * 5000 + '"', _DEEP,
)  # fmt: skip
_KEYS = (
    "",
    "images",
    "b64",
    "Instances",
    "inputs",
    "instances",
    "ínputs",
    "😀",
    "\x00",
)


def _swapped_values(random, model):
    """Puts an odd value in the place of another, as JSON text that may be none."""
    document = _document(random, model)
    literal = _pick(random, _LITERALS)
    if literal == _DEEP:
        depth = int(_pick(random, [3, 40, 500, 1100, 20_000]))
        literal = "[" * depth + "]" * depth
    parent, key = None, None
    value = document
    for _ in range(random.integers(1, 8)):
        if not isinstance(value, dict | list) or not value:
            break
        parent = value
        key = _pick(
            random, list(value) if isinstance(value, dict) else range(len(value))
        )
        value = parent[key]
    parent[key] = "@@"
    return _post(json.dumps(document).replace('"@@"', literal).encode(), model)


def _swapped_keys(random, model):
    document = _document(random, model)
    old = _pick(random, list(document))
    value = document[old] if random.random() < 0.3 else document.pop(old)
    document[_pick(random, _KEYS)] = value
    return _post(json.dumps(document, ensure_ascii=False).encode(), model)


def _reshaped(random, model):
    """Sends numbers in another shape, or with an odd one left out."""
    images = _images(random, model)
    kind = random.integers(4)
    if kind == 0:
        sizes = random.integers(0, 5, random.integers(0, 6))
        images = np.zeros(sizes)
    elif kind == 1:
        images = np.moveaxis(images, random.integers(4), random.integers(4))
    x = images.tolist()
    if kind >= 2:
        inner = x
        for _ in range(random.integers(0, 4)):
            inner = _pick(random, inner)
        if kind == 2:
            inner.pop()
        else:
            inner.append(copy.deepcopy(inner[0]))
    key = _pick(random, ["instances", "inputs"])
    return _post(json.dumps({key: x}).encode(), model)


_METHODS = ("POST", "GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "FOO")
_PATHS = (
    "{}:predict", "{}", "{}/metadata", "{}:classify", "{}:regress", "{}:predict:",
    "{}/versions/1:predict", "{}/versions/2:predict", "{}/versions/-1:predict",
    "{}/versions/1x:predict", "{}/versions/" + "9" * 19 + ":predict",
    "{}/versions/" + "9" * 5000, "{}/labels/stable:predict", "{}/labels/%00", "{}//",
    "{}/..:predict", "/v1/models/:predict", "/v1/models/%2e%2e:predict", "/v1/models//",
    "/v1/models/%:predict", "/v1/models/%zz:predict", "/v1/models/%ff%fe:predict",
    "/v1/models/%00:predict", "/v1/models/a%0d%0ab:predict", "/v1/models/" + "a" * 5000,
    "/v1/", "/v1", "/v2/models", "//v1/models", "/%2e%2e/%2e%2e/etc/passwd",
)  # fmt: skip
_CHARACTERS = "abcxyz0129/:%._~-"


def _other_path(random, model):
    method = "POST" if random.random() < 0.5 else _pick(random, _METHODS)
    path = _pick(random, _PATHS).format(model.path)
    if random.random() < 0.4:
        i = random.integers(1, len(path))
        path = path[:i] + _pick(random, _CHARACTERS) + path[i + random.integers(2) :]
    body = b"" if method in ("GET", "HEAD") else _good_body(random, model)
    valid = validity.of_path(method, path, model)
    if valid == "predict":
        valid = validity.of_json(body, model)
    return Http(method, path, {}, body, valid)


def _good_body(random, model):
    return json.dumps(_document(random, model)).encode()


# By whether a request with it can have an answer.
_HEADERS = (
    (True, {"Content-Type": "image/png"}),
    (True, {"Content-Type": ""}),
    (True, {"Accept": "image/png", "X-A": "b" * 1000}),
    (False, {"Content-Encoding": "gzip"}),
    (False, {"Content-Encoding": "deflate"}),
    (False, {"Expect": "an answer"}),
    (False, {"X-A": "b" * 20_000}),
    (False, {"Content-Length": "1"}),
)


def _other_headers(random, model):
    can, headers = _pick(random, _HEADERS)
    request = _post(_good_body(random, model), model, headers)
    return request if can else dataclasses.replace(request, valid=None)


def _request(random, model):
    images = _images(random, model).astype("float32")
    if random.random() < 0.2:
        files = np.array([png(x) for x in images], object)
        return predict_request(model.name, {"image_bytes": files}, "serve_bytes")
    return predict_request(model.name, {"images": images})


def _rpc(content, model, method=PREDICT):
    valid = validity.of_message(content, model) if method == PREDICT else None
    return Rpc(method, content, valid)


def _random_message(random, model):
    return _rpc(_random_bytes(random), model)


def _mutated_message(random, model):
    content = _request(random, model).SerializeToString()
    return _rpc(_mutated_bytes(random, content, 4), model)


def _other_method(random, model):
    names = ("Classify", "Regress", "MultiInference", "Nope", "predict", "")
    method = f"/tensorflow.serving.PredictionService/{_pick(random, names)}"
    return _rpc(_request(random, model).SerializeToString(), model, method)


_SIZES = (-(2**63), -1, 0, 1, 2, 28, 2**31, 2**40, 2**62, 2**63 - 1)


def _other_tensor(random, model):
    """Changes the type, the shape or the length of the content."""
    request = _request(random, model)
    (tensor,) = request.inputs.values()
    for _ in range(random.integers(1, 3)):
        kind = random.integers(7)
        if kind == 0:
            tensor.dtype = int(_pick(random, [0, 2, 3, 7, 9, 14, 19, 20, 21, 101, 999]))
        elif kind == 1 and tensor.tensor_shape.dim:
            _pick(random, tensor.tensor_shape.dim).size = int(_pick(random, _SIZES))
        elif kind == 2:
            tensor.tensor_shape.dim.add().size = int(_pick(random, _SIZES))
        elif kind == 3 and tensor.tensor_shape.dim:
            del tensor.tensor_shape.dim[random.integers(len(tensor.tensor_shape.dim)) :]
        elif kind == 4:
            tensor.tensor_content = tensor.tensor_content[: random.integers(5)]
        elif kind == 5:
            tensor.ClearField("tensor_content")
            tensor.float_val.append(_pick(random, [0.0, np.nan, np.inf]))
        else:
            tensor.tensor_shape.unknown_rank = bool(random.integers(2))
    return _rpc(request.SerializeToString(), model)


def _whole_shape_of_one_value(random, model):
    sizes = [int(_pick(random, _SIZES)) for _ in range(random.integers(0, 40))]
    tensor = tf.make_tensor_proto(np.float32(1))
    for size in sizes:
        tensor.tensor_shape.dim.add().size = size
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model.name
    request.inputs["images"].CopyFrom(tensor)
    return _rpc(request.SerializeToString(), model)


def _other_names(random, model):
    request = _request(random, model)
    name = _pick(random, ["", "nope", "é" * 3000, "\x00", "../x", "logits"])
    kind = random.integers(6)
    if kind == 0:
        request.model_spec.name = name
    elif kind == 1:
        request.model_spec.signature_name = name
    elif kind == 2:
        request.model_spec.version_label = name
    elif kind == 3:
        request.model_spec.version.value = int(_pick(random, _SIZES))
    elif kind == 4:
        request.output_filter.extend([name] * random.integers(1, 3))
    else:
        request.inputs[name].CopyFrom(next(iter(request.inputs.values())))
    return _rpc(request.SerializeToString(), model)


_HTTPS = (
    _random_body,
    _mutated_text,
    _mutated_text,
    _swapped_values,
    _swapped_values,
    _swapped_keys,
    _reshaped,
    _other_path,
    _other_headers,
)
_RPCS = (
    _random_message,
    _mutated_message,
    _mutated_message,
    _other_method,
    _other_tensor,
    _other_tensor,
    _whole_shape_of_one_value,
    _other_names,
)
