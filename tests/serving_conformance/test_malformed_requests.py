"""Random malformed requests: client errors, and no harm to other requests."""

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
    """Sends a random request; returns its outcome. A few of them are valid."""
    request = mutations.make(SEED, index, model)
    if isinstance(request, mutations.Http):
        status = server.ask(
            request.method, request.path, request.body, request.headers
        ).status
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
    """Sends a valid request over REST and gRPC, and checks the answers."""
    images = model.images(1)
    answer = server.post(f"{model.path}:predict", {"inputs": images.tolist()})
    assert answer.status == 200, answer.content
    served.assert_equal(answer.json["outputs"], expected)
    request = served.predict_request(model.name, {"images": images})
    served.assert_equal(served.arrays(server.predict(request, timeout=60)), expected)
    return "valid"


@pytest.mark.parametrize("count", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_malformed_requests(server, model, conv, ours, count):
    expected = {}
    for asked in (model, conv):
        request = served.predict_request(asked.name, {"images": asked.images(1)})
        expected[asked.name] = served.arrays(server.predict(request, timeout=60))
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        calls = []
        for index in range(count):
            asked = (model, conv)[index // 2 % 2]
            calls.append(pool.submit(send_malformed, server, asked, index))
            if index % 4 == 0:
                answer = expected[asked.name]
                calls.append(pool.submit(send_valid, server, asked, answer))
        outcomes = collections.Counter(call.result() for call in calls)
    assert outcomes["valid"] == count // 4
    assert outcomes["HTTP 400"] > count // 5
    assert outcomes["gRPC INVALID_ARGUMENT"] > count // 5
    assert server.process is None or server.process.poll() is None
    assert server.get("/readyz").status == 200
