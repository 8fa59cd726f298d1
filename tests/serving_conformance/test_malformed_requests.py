"""Malformed requests from a seed, some of them beside good ones."""

import collections
import concurrent.futures

import grpc
import numpy as np
import pytest

served = pytest.importorskip("served")

import mutations  # noqa: E402

SEED = 20_160_107
THREADS = 8
REFUSED = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
}


def expected(server, model, valid):
    """The answer to the same question, asked plainly over gRPC."""
    request = served.predict_request(
        model.name, valid.inputs, valid.signature, outputs=valid.outputs
    )
    return served.arrays(server.predict(request, timeout=60))


def assert_close(found, wanted):
    assert set(found) == set(wanted)
    for name, values in wanted.items():
        np.testing.assert_allclose(
            np.array(found[name], values.dtype), values, 1e-4, 1e-4
        )


def check_json(document, wanted):
    """Checks an answer in either format; JSON has null for what is not finite."""
    wanted = {
        name: np.where(np.isfinite(v), v, np.nan) if v.dtype.kind == "f" else v
        for name, v in wanted.items()
    }
    found = document.get("outputs", document.get("predictions"))
    if len(wanted) == 1:
        found = {next(iter(wanted)): found}
    elif isinstance(found, list):
        found = {name: [row[name] for row in found] for name in found[0]}
    assert_close(found, wanted)


def send_http(server, model, request):
    """Sends it, checks what comes, and returns the status."""
    answer = server.ask(request.method, request.path, request.body, request.headers)
    if request.valid is None:
        unknown_method = request.path.endswith((":classify", ":regress"))
        assert 400 <= answer.status < 500 or (answer.status == 501 and unknown_method)
    else:
        assert answer.status == 200
        if request.valid != "get":
            check_json(answer.json, expected(server, model, request.valid))
    return f"HTTP {answer.status}"


def send_rpc(server, model, request):
    """Sends it, checks what comes, and returns the code."""
    call = server.channel.unary_unary(
        request.method, bytes, mutations.predict_pb2.PredictResponse.FromString
    )
    try:
        answer = call(request.content, timeout=60)
    except grpc.RpcError as error:
        assert request.valid is None and error.code() in REFUSED, error.details()
        return f"gRPC {error.code().name}"
    assert request.valid is not None
    assert_close(served.arrays(answer), expected(server, model, request.valid))
    return "gRPC OK"


def send(server, models, index):
    """Sends request number `index`; returns its outcome and, if wrong, why."""
    model = models[index // 2 % 2]
    request = mutations.make(SEED, index, model)
    is_http = isinstance(request, mutations.Http)
    try:
        return (send_http if is_http else send_rpc)(server, model, request), None
    except Exception as error:
        return "wrong", f"{index}: {str(request)[:300]} {str(error)[:300]!r}"


def ask_well(server, model, index, answers):
    """Asks a good question; returns as `send`."""
    images = model.images(1, index % 7)
    try:
        if index % 4 < 2:
            answer = server.post(f"{model.path}:predict", {"inputs": images.tolist()})
            assert answer.status == 200, answer.content
            check_json(answer.json, answers[model.name, index % 7])
        else:
            request = served.predict_request(model.name, {"images": images})
            found = served.arrays(server.predict(request, timeout=60))
            assert_close(found, answers[model.name, index % 7])
    except Exception as error:
        return "wrong", f"good {index}: {error!r:.300}"
    return "good", None


@pytest.mark.parametrize("count", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_malformed_requests(server, model, conv, ours, count):
    models = (model, conv)
    answers = {}
    for asked in models:
        for seed in range(7):
            request = served.predict_request(
                asked.name, {"images": asked.images(1, seed)}
            )
            answers[asked.name, seed] = served.arrays(
                server.predict(request, timeout=60)
            )
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        calls = []
        for index in range(count):
            calls.append(pool.submit(send, server, models, index))
            if index // 4 % 2:
                asked = models[index % 2]
                calls.append(pool.submit(ask_well, server, asked, index, answers))
        outcomes = [call.result() for call in calls]
    counts = collections.Counter(outcome for outcome, _ in outcomes)
    print(f"{count} requests from seed {SEED}:", dict(sorted(counts.items())))
    wrong = [why for _, why in outcomes if why]
    assert not counts["wrong"], "\n".join(wrong[:20])
    assert counts["good"] == count // 2
    assert server.process is None or server.process.poll() is None
    assert server.get("/readyz").status == 200
