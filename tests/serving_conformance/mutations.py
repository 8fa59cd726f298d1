"""Random requests, most of which are malformed."""

import base64
import copy
import dataclasses
import json

import numpy as np
import tensorflow as tf
from png_files import png
from served import PREDICT, Model, predict_request


@dataclasses.dataclass(frozen=True)
class Http:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclasses.dataclass(frozen=True)
class Rpc:
    method: str
    content: bytes


def make_request(seed: int, index: int, model: Model) -> Http | Rpc:
    """Returns a random request: HTTP if `index` is even, gRPC if it is odd."""
    random = np.random.default_rng((seed, index))
    kinds = _RPCS if index % 2 else _HTTPS
    return kinds[random.integers(len(kinds))](random, model)


def _pick(random, values):
    return values[random.integers(len(values))]


def _images(random, model):
    return random.integers(0, 10, (random.integers(1, 3), *model.shape))


def _document(random, model):
    """Returns a valid JSON request in a random format."""
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
            {"signature_name": "serving_default", "inputs": {"images": x}},
        ],
    )


def _post(body, model, headers=None):
    return Http("POST", f"{model.path}:predict", headers or {}, body)


def _mutate(random, content):
    """Deletes, repeats, flips or replaces random bytes, or removes all later bytes."""
    content = bytearray(content)
    for _ in range(random.integers(1, 5)):
        if not content:
            break
        # Half of the changes are in the first bytes, which encode the structure.
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


def _random_body(random, model):
    return _post(random.bytes(random.integers(0, 300)), model)


def _mutated_body(random, model):
    return _post(_mutate(random, json.dumps(_document(random, model)).encode()), model)


_LITERALS = (
    *("null", "true", '"x"', "[]", "{}", '{"b64": "?"}', "1e400", "-1e39", "NaN"),
    *(
        '"\\ud800"',
        "1" * 400,
        *("[" * depth + "]" * depth for depth in (3, 500, 20_000)),
    ),
)


def _replaced_value(random, model):
    """Replaces a value at a random depth by JSON text, which may be invalid."""
    document = _document(random, model)
    parent, key, value = None, None, document
    for _ in range(random.integers(1, 8)):
        if not isinstance(value, dict | list) or not value:
            break
        parent = value
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = _pick(random, keys)
        value = parent[key]
    parent[key] = "@@"
    text = json.dumps(document).replace('"@@"', _pick(random, _LITERALS))
    return _post(text.encode(), model)


_KEYS = ("", "instances", "inputs", "signature_name", "images", "ínputs", "😀", "\x00")


def _replaced_key(random, model):
    document = _document(random, model)
    old = _pick(random, list(document))
    value = document[old] if random.random() < 0.3 else document.pop(old)
    document[_pick(random, _KEYS)] = value
    return _post(json.dumps(document, ensure_ascii=False).encode(), model)


def _wrong_shape(random, model):
    images = _images(random, model)
    if random.random() < 0.5:
        images = np.zeros(random.integers(0, 5, random.integers(0, 6)))
    x = images.tolist()
    inner = x
    for _ in range(random.integers(0, 4)):
        if isinstance(inner, list) and inner:
            parent, inner = inner, _pick(random, inner)
            parent.append(copy.deepcopy(inner))
    return _post(json.dumps({"instances": x}).encode(), model)


_METHODS = ("POST", "GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "FOO")
_PATHS = (
    "{}:predict", "{}", "{}/metadata", "{}:classify", "{}:predict:",
    "{}/versions/2:predict", "{}/versions/-1:predict", "{}/versions/1x:predict",
    "{}/versions/" + "9" * 5000, "{}/labels/%00", "{}//", "{}/..:predict",
    "/v1/models/:predict", "/v1/models//", "/v1/models/%zz:predict",
    "/v1/models/%ff%fe:predict", "/v1/models/a%0d%0ab:predict",
    "/v1/models/" + "a" * 5000, "/v1", "//v1/models", "/%2e%2e/%2e%2e/etc/passwd",
)  # fmt: skip


def _wrong_path(random, model):
    method = "POST" if random.random() < 0.5 else _pick(random, _METHODS)
    path = _pick(random, _PATHS).format(model.path)
    body = json.dumps(_document(random, model)).encode()
    return Http(method, path, {}, b"" if method in ("GET", "HEAD") else body)


_HEADERS = (
    {"Content-Type": "image/png"},
    {"Content-Encoding": "gzip"},
    {"Content-Encoding": "deflate"},
    {"Expect": "an answer"},
    {"X-A": "b" * 20_000},
    {"Content-Length": "1"},
)


def _wrong_headers(random, model):
    body = json.dumps(_document(random, model)).encode()
    return _post(body, model, _pick(random, _HEADERS))


def _request(random, model):
    images = _images(random, model).astype("float32")
    if random.random() < 0.2:
        files = np.array([png(x) for x in images], object)
        return predict_request(model.name, {"image_bytes": files}, "serve_bytes")
    return predict_request(model.name, {"images": images})


def _random_message(random, model):
    return Rpc(PREDICT, random.bytes(random.integers(0, 300)))


def _mutated_message(random, model):
    return Rpc(PREDICT, _mutate(random, _request(random, model).SerializeToString()))


def _wrong_method(random, model):
    method = f"{PREDICT.rpartition('/')[0]}/{_pick(random, ['Classify', 'Nope', ''])}"
    return Rpc(method, _request(random, model).SerializeToString())


_SIZES = (-(2**63), -1, 0, 1, 2, 28, 2**31, 2**40, 2**62, 2**63 - 1)


def _wrong_tensor(random, model):
    """Changes the type, the shape or the values of the input."""
    request = _request(random, model)
    (tensor,) = request.inputs.values()
    for _ in range(random.integers(1, 3)):
        kind = random.integers(6)
        if kind == 0:
            tensor.dtype = int(_pick(random, [0, 2, 3, 7, 9, 14, 19, 101, 999]))
        elif kind == 1 and tensor.tensor_shape.dim:
            _pick(random, tensor.tensor_shape.dim).size = int(_pick(random, _SIZES))
        elif kind == 2:
            tensor.tensor_shape.dim.add().size = int(_pick(random, _SIZES))
        elif kind == 3:
            tensor.tensor_content = tensor.tensor_content[: random.integers(5)]
        elif kind == 4:
            tensor.ClearField("tensor_content")
            tensor.float_val.append(_pick(random, [0.0, np.nan, np.inf]))
        else:
            tensor.tensor_shape.unknown_rank = True
    return Rpc(PREDICT, request.SerializeToString())


def _large_shape(random, model):
    """Declares a random shape for a tensor that contains one value."""
    tensor = tf.make_tensor_proto(np.float32(1))
    for _ in range(random.integers(0, 40)):
        tensor.tensor_shape.dim.add().size = int(_pick(random, _SIZES))
    request = predict_request(model.name, {"images": tensor})
    return Rpc(PREDICT, request.SerializeToString())


def _wrong_name(random, model):
    request = _request(random, model)
    name = _pick(random, ["", "nope", "é" * 3000, "\x00", "../x", "logits"])
    kind = random.integers(5)
    if kind == 0:
        request.model_spec.name = name
    elif kind == 1:
        request.model_spec.signature_name = name
    elif kind == 2:
        request.model_spec.version.value = int(_pick(random, _SIZES))
    elif kind == 3:
        request.output_filter.extend([name] * random.integers(1, 3))
    else:
        request.inputs[name].CopyFrom(next(iter(request.inputs.values())))
    return Rpc(PREDICT, request.SerializeToString())


_HTTPS = (
    _random_body,
    _mutated_body,
    _replaced_value,
    _replaced_key,
    _wrong_shape,
    _wrong_path,
    _wrong_headers,
)
_RPCS = (
    _random_message,
    _mutated_message,
    _wrong_method,
    _wrong_tensor,
    _large_shape,
    _wrong_name,
)
