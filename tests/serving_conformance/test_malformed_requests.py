"""Random malformed requests fail, and do not change responses to other requests."""

import collections
import concurrent.futures

import grpc
import pytest

served = pytest.importorskip("served")

import mutations  # noqa: E402

SEED = 20_160_107
THREADS = 8
CODES = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
}


def send_malformed(server, model, index):
    """Sends a random request, which is rarely valid; returns the status."""
    request = mutations.make_request(SEED, index, model)
    if isinstance(request, mutations.Http):
        status = server.send(request.method, request.path, request.body, request.headers).status
        is_expected = status in (200, 501) or 400 <= status < 500
        assert is_expected, (index, status, request)
        return f"HTTP {status}"
    try:
        call = server.channel.unary_unary(request.method, bytes, bytes)
        call(request.content, timeout=60)
    except grpc.RpcError as error:
        assert error.code() in CODES, (index, error.details(), request)
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


@pytest.mark.parametrize("count", [400, pytest.param(10_000, marks=pytest.mark.slow)])
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
