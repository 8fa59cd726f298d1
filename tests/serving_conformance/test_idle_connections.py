"""Many connections that send half a request, and few file descriptors for them."""

import contextlib
import socket
import time

import grpc
import pytest

served = pytest.importorskip("served")

FILES = 200
HALVES = {
    "head": b"POST /v1/models/x:predict HTTP/1.1\r\nHost: localhost\r\nContent-",
    "body": b"POST /v1/models/mnist_mlp_8x128:predict HTTP/1.1\r\nHost: localhost\r\n"
    b'Content-Length: 1000\r\n\r\n{"instances": [',
    "gRPC": b"PRI * HTTP/2.0\r\n",
}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("idle") / "log"


@pytest.fixture(scope="module")
def short(exports, log):
    """Our server, with few file descriptors."""
    with served.started(exports, log, files=FILES) as server:
        yield server


def answers(server, request, model):
    """Asks both ports, each by a new connection."""
    with grpc.insecure_channel(server.grpc_address) as channel:
        ask = channel.unary_unary(served.PREDICT, bytes, bytes)
        assert ask(request.SerializeToString(), timeout=20, wait_for_ready=True)
    body = {"instances": model.images(1).tolist()}
    start = time.monotonic()
    assert server.post(f"{model.path}:predict", body).status == 200
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("half", HALVES)
def test_half_sent_requests(short, log, half):
    model = short.model("mnist_mlp_8x128")
    request = served.predict_request(model.name, {"images": model.images(1)})
    before = log.stat().st_size
    port = int(short.grpc_address.rpartition(":")[2]) if half == "gRPC" else short.port
    with contextlib.ExitStack() as stack:
        for _ in range(FILES):
            made = stack.enter_context(socket.create_connection((short.host, port), 20))
            with contextlib.suppress(ConnectionError):
                made.sendall(HALVES[half])
        for _ in range(5):
            answers(short, request, model)
            time.sleep(0.2)
    answers(short, request, model)
    assert short.process.poll() is None
    assert log.stat().st_size - before < 20_000
