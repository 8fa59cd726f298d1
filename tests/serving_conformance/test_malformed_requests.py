"""Random malformed requests fail, and do not change responses to other requests."""

import collections
import concurrent.futures
import json

import grpc
import numpy as np
import pytest

served = pytest.importorskip("served")

SEED = 20_160_107
THREADS = 8
Code = grpc.StatusCode
CODES = {Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.FAILED_PRECONDITION, Code.RESOURCE_EXHAUSTED}
LITERALS = (
    *("null", "true", '"x"', "[]", "{}", '{"b64": "?"}', "1e400", "-1e39", "NaN"),
    *('"\\ud800"', "1" * 400, *("[" * depth + "]" * depth for depth in (3, 500, 20_000))),
)
METHODS = ("POST", "GET", "PUT", "DELETE", "HEAD", "OPTIONS", "FOO")
PATHS = (
    *("{}:predict", "{}", "{}/metadata", "{}:classify", "{}:predict:", "{}//", "{}/..:predict"),
    *("{}/versions/2:predict", "{}/versions/-1:predict", "{}/versions/" + "9" * 5000),
    *("{}/labels/%00", "/v1/models/:predict", "/v1/models//", "/v1/models/%zz:predict"),
    *("/v1/models/%ff%fe:predict", "/v1/models/a%0d%0ab:predict", "/v1/models/" + "a" * 5000),
    *("/v1", "//v1/models", "/%2e%2e/%2e%2e/etc/passwd"),
)
HEADERS = (
    {"Content-Type": "image/png"},
    {"Content-Encoding": "gzip"},
    {"Content-Encoding": "deflate"},
    {"Expect": "an answer"},
    {"X-A": "b" * 20_000},
    {"Content-Length": "1"},
)
SIZES = (-(2**63), -1, 0, 1, 2, 28, 2**31, 2**40, 2**62, 2**63 - 1)
MANY = pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.nightly])
NAMES = ("", "nope", "é" * 3000, "\x00", "../x", "logits")


def pick(random, values):
    return values[random.integers(len(values))]


def mutate(random, content):
    """Deletes, repeats or replaces random bytes, or removes all later bytes."""
    content = bytearray(content)
    for _ in range(random.integers(1, 5)):
        # Half of the changes are in the first bytes, which encode the structure.
        end = len(content) if random.random() < 0.5 else min(60, len(content))
        i = random.integers(end) if end else 0
        kind = random.integers(4)
        if kind == 0:
            del content[i : i + 1]
        elif kind == 1:
            content[i:i] = content[i : i + random.integers(1, 9)]
        elif kind == 2:
            content[i : i + 1] = [random.integers(256)]
        else:
            del content[i:]
    return bytes(content)


def replace_value(random, document):
    """Returns JSON in which text replaces a value at a random depth; it may be invalid."""
    parent, key, value = None, None, document
    for _ in range(random.integers(1, 8)):
        if not isinstance(value, dict | list) or not value:
            break
        parent = value
        key = pick(random, list(value) if isinstance(value, dict) else range(len(value)))
        value = parent[key]
    parent[key] = "@@"
    return json.dumps(document).replace('"@@"', pick(random, LITERALS)).encode()


def http_request(random, model):
    """Returns the method, path, body and headers of a random request."""
    images = random.integers(0, 10, (random.integers(1, 3), *model.shape)).tolist()
    document = pick(
        random,
        [
            {"instances": images},
            {"instances": [{"images": image} for image in images]},
            {"signature_name": "serving_default", "inputs": {"images": images}},
        ],
    )
    body, kind = json.dumps(document).encode(), random.integers(4)
    if kind == 3:
        path = pick(random, PATHS).format(model.path)
        return pick(random, METHODS), path, body, {}
    bodies = mutate(random, body), replace_value(random, document), body
    headers = pick(random, HEADERS) if kind == 2 else {}
    return "POST", f"{model.path}:predict", bodies[kind], headers


def grpc_request(random, model):
    """Returns the content of a random PredictRequest."""
    images = random.integers(0, 10, (random.integers(1, 3), *model.shape)).astype("float32")
    request = served.predict_request(model.name, {"images": images})
    tensor, kind = request.inputs["images"], random.integers(9)
    if kind == 0:
        tensor.dtype = int(pick(random, [0, 2, 3, 7, 9, 14, 19, 101, 999]))
    elif kind == 1:
        pick(random, tensor.tensor_shape.dim).size = int(pick(random, SIZES))
    elif kind == 2:
        for _ in range(random.integers(1, 40)):
            tensor.tensor_shape.dim.add().size = int(pick(random, SIZES))
    elif kind == 3:
        tensor.tensor_content = tensor.tensor_content[: random.integers(5)]
    elif kind == 4:
        tensor.tensor_shape.unknown_rank = True
    elif kind == 5:
        request.model_spec.signature_name = pick(random, NAMES)
    elif kind == 6:
        request.output_filter.extend([pick(random, NAMES)] * random.integers(1, 3))
    elif kind == 7:
        request.inputs[pick(random, NAMES)].CopyFrom(tensor)
    else:
        return mutate(random, request.SerializeToString())
    return request.SerializeToString()


def send_malformed(server, model, index):
    """Sends a random request, which is rarely valid; returns the status."""
    random = np.random.default_rng((SEED, index))
    if index % 2:
        method, path, body, headers = http_request(random, model)
        status = server.send(method, path, body, headers).status
        assert status in (200, 501) or 400 <= status < 500, (index, status)
        return f"HTTP {status}"
    try:
        server.predict_raw(grpc_request(random, model), timeout=60)
    except grpc.RpcError as error:
        assert error.code() in CODES, (index, error.details())
        return f"gRPC {error.code().name}"
    return "gRPC OK"


def send_valid(server, model, expected):
    """Sends a valid request over REST and gRPC, and checks the outputs."""
    images = model.images(1)
    response = server.post(f"{model.path}:predict", {"inputs": images.tolist()})
    assert response.status == 200, response.content
    served.assert_equal(response.json["outputs"], expected)
    request = served.predict_request(model.name, {"images": images})
    served.assert_equal(served.arrays(server.predict(request, timeout=60)), expected)
    return "valid"


@pytest.mark.parametrize("count", [100, MANY])
def test_malformed_requests_get_client_errors(server, model, conv, needs_our_server, count):
    expected = {}
    for target in (model, conv):
        request = served.predict_request(target.name, {"images": target.images(1)})
        expected[target.name] = served.arrays(server.predict(request, timeout=60))
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        futures = []
        for index in range(count):
            target = (model, conv)[index // 2 % 2]
            futures.append(pool.submit(send_malformed, server, target, index))
            if index % 4 == 0:
                response = expected[target.name]
                futures.append(pool.submit(send_valid, server, target, response))
        outcomes = collections.Counter(call.result() for call in futures)
    assert outcomes["valid"] == count // 4
    assert outcomes["HTTP 400"] > count // 5
    assert outcomes["gRPC INVALID_ARGUMENT"] > count // 5
    assert server.process is None or server.process.poll() is None
    assert server.get("/readyz").status == 200
