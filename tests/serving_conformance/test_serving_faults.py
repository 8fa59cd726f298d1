"""Clients that leave or wait in vain, and a full queue."""

import contextlib
import json
import re
import socket
import urllib.request
from pathlib import Path

import grpc
import numpy as np
import pytest
from pictures_to_send import blank

served = pytest.importorskip("served")

CONV = "elu_cifar_11"
BATCH = 16
BODY = 1_000_000
FLAGS = (
    f"--max_batch_size={BATCH}",
    "--max_enqueued_batches=1",
    f"--max_body_bytes={BODY}",
    "--rest_api_timeout_in_ms=2000",
)
FULL = "The batch scheduling queue to which this task was submitted is full"
Code = grpc.StatusCode


@pytest.fixture(scope="module")
def strained(exports, tmp_path_factory):
    """Our server with small limits."""
    log = tmp_path_factory.mktemp("strained") / "log"
    with served.started(exports, log, *FLAGS) as server:
        yield server


@pytest.fixture(scope="module")
def asked(strained):
    return strained.model(CONV)


@pytest.fixture
def quick(strained, asked):
    """Asks for one image, and checks the answer."""
    request = served.predict_request(CONV, {"images": asked.images(1)})
    expected = served.arrays(strained.predict(request, timeout=60))

    def ask(timeout=60):
        answer = strained.predict(request, timeout=timeout)
        served.assert_equal(served.arrays(answer), expected)

    return ask


def counted(server, status):
    """Returns how many requests the server says have ended so."""
    line = rf'^:tensorflow:serving:request_count{{.*status="{status}"}} (.*)$'
    url = f"http://{server.host}:{server.port}/monitoring/prometheus/metrics"
    with urllib.request.urlopen(url, timeout=20) as answer:
        text = answer.read().decode()
    return sum(map(float, re.findall(line, text, re.MULTILINE)))


def slow_request(count=BATCH):
    """Returns a request that takes tenths of a second."""
    files = np.array([blank(1500)] * count, object)
    return served.predict_request(CONV, {"image_bytes": files}, "serve_bytes")


@pytest.mark.slow
def test_a_deadline_of_a_millisecond(strained, quick):
    with pytest.raises(grpc.RpcError) as caught:
        strained.predict(slow_request(), timeout=0.001)
    assert caught.value.code() == Code.DEADLINE_EXCEEDED
    quick()


def test_requests_whose_client_gave_up_leave_the_queue(strained, asked, quick):
    strained.predict(slow_request(1), timeout=60)  # nothing else waits
    running = strained.predict.future(slow_request(), timeout=60)
    one = served.predict_request(
        CONV, {"image_bytes": np.array([blank(8)], object)}, "serve_bytes"
    )
    codes = []
    for _ in range(3 * BATCH):
        try:
            strained.predict(one, timeout=0.005)
        except grpc.RpcError as error:
            codes.append(error.code())
    running.result()
    # On a busy machine the server learns late that some have left.
    assert set(codes) <= {Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE}
    assert codes and codes.count(Code.UNAVAILABLE) <= len(codes) // 5
    quick()


def test_a_full_queue(strained, asked, quick):
    calls = [strained.predict.future(slow_request(), timeout=60) for _ in range(5)]
    served.wait_until(lambda: any(call.done() for call in calls))
    body = {"signature_name": "serve_bytes", "instances": [{"b64": ""}]}
    answer = strained.post(f"{asked.path}:predict", body)
    assert answer.status == 503 and FULL in answer.error
    refused = [call for call in calls if call.exception()]
    assert 1 <= len(refused) < len(calls)
    for call in refused:
        assert call.code() == Code.UNAVAILABLE and FULL in call.details()
    quick()


def test_http_clients_that_leave(strained, asked, quick):
    body = json.dumps({"instances": asked.images(2).tolist()}).encode()
    for index in range(40):
        with contextlib.closing(strained.connect()) as connection:
            connection.putrequest("POST", f"{asked.path}:predict")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            connection.send(body[: len(body) // (1 + index % 3)])
    # Of two in three half of the body was still to come.
    served.wait_until(lambda: counted(strained, "CANCELLED") >= 20)
    quick()
    assert strained.post(f"{asked.path}:predict", body).status == 200


def test_a_body_that_never_comes(strained, asked, quick):
    with contextlib.closing(strained.connect()) as connection:
        connection.putrequest("POST", f"{asked.path}:predict")
        connection.putheader("Content-Length", "100")
        connection.endheaders(b'{"instances": ')
        quick()
        answer = served.answer(connection)
    assert answer.status == 504 and answer.error


def test_a_body_over_the_limit(strained, asked, quick):
    path = f"{asked.path}:predict"
    assert strained.post(path, b" " * (BODY + 1)).status == 413
    assert strained.post(path, iter([b" " * BODY] * 2)).status == 413
    images = served.predict_request(CONV, {"images": np.zeros(BODY, "float32")})
    with pytest.raises(grpc.RpcError) as caught:
        strained.predict(images, timeout=60)
    assert caught.value.code() == Code.RESOURCE_EXHAUSTED
    quick()


# 127.0.0.1, as itself, and as gRPC writes it on a socket of both families.
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


def listening():
    """The addresses that this machine listens on, by port; of IPv4 and IPv6."""
    found = {}
    for name in ("tcp", "tcp6"):
        table = Path("/proc/net", name)
        rows = table.read_text().splitlines()[1:] if table.exists() else []
        for _, local, _, state, *_ in map(str.split, rows):
            address, port = local.split(":")
            if state == "0A":
                found.setdefault(int(port, 16), set()).add(address)
    return found


def test_only_this_machine_can_connect(strained):
    ports = strained.port, int(strained.grpc_address.rpartition(":")[2])
    addresses = listening()
    for port in ports:
        assert addresses[port] <= LOOPBACK
    address = socket.gethostbyname(socket.gethostname())
    for port in () if address.startswith("127.") else ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, port), 5).close()
