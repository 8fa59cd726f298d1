"""Clients that disconnect or send incomplete requests do not block other clients."""

import contextlib
import json
import re
import socket
import time
import urllib.request

import grpc
import numpy as np
import pytest
from png_files import blank

served = pytest.importorskip("served")

CONV = "elu_cifar_11"
FILES = 200  # largest number of open files of the server
BATCH = 16  # largest number of images in a batch
BODY = 1_000_000  # largest size of a body in bytes
FLAGS = (
    f"--max_batch_size={BATCH}",
    "--max_enqueued_batches=1",
    f"--max_body_bytes={BODY}",
    "--rest_api_timeout_in_ms=2000",
)
Code = grpc.StatusCode
INCOMPLETE = {
    "head": b"POST /v1/models/x:predict HTTP/1.1\r\nHost: localhost\r\nContent-",
    "body": b"POST /v1/models/elu_cifar_11:predict HTTP/1.1\r\nHost: localhost\r\n"
    b'Content-Length: 1000\r\n\r\n{"instances": [',
    "gRPC": b"PRI * HTTP/2.0\r\n",
}


@pytest.fixture(scope="module")
def limited(exports, tmp_path_factory):
    """Starts our server with low limits."""
    log = tmp_path_factory.mktemp("limited") / "log"
    with served.start_server(exports, log, *FLAGS, files=FILES) as server:
        yield server
    assert log.stat().st_size < 20_000


@pytest.fixture(scope="module")
def conv_model(limited):
    return limited.model(CONV)


@pytest.fixture
def check_outputs(limited, conv_model):
    """Returns a function that sends a request of one image and checks the outputs."""
    request = served.predict_request(CONV, {"images": conv_model.images(1)})
    expected = served.arrays(limited.predict(request, timeout=60))

    def ask():
        response = limited.predict(request, timeout=60)
        served.assert_equal(served.arrays(response), expected)

    return ask


def count_requests(server, status):
    """Returns how many requests had a status, according to the server's metrics."""
    return metric(server, rf':tensorflow:serving:request_count{{.*status="{status}"}}')


def metric(server, name):
    url = f"http://{server.host}:{server.port}/monitoring/prometheus/metrics"
    with urllib.request.urlopen(url, timeout=20) as response:
        text = response.read().decode()
    return sum(map(float, re.findall(rf"^{name} (.*)$", text, re.MULTILINE)))


def slow_request(count=BATCH):
    """Returns a request that takes some tenths of a second."""
    files = np.array([blank(1500)] * count, object)
    return served.predict_request(CONV, {"image_bytes": files}, "serve_bytes")


@pytest.mark.slow
def test_cancelled_requests_leave_the_queue(limited, conv_model, check_outputs):
    limited.predict(slow_request(1), timeout=60)  # the queue is empty now
    batches = metric(limited, "elu_zoo_batch_size_count{.*}")
    running = limited.predict.future(slow_request(), timeout=60)
    served.wait_until(lambda: metric(limited, "elu_zoo_batch_size_count{.*}") > batches)
    single = served.predict_request(
        CONV, {"image_bytes": np.array([blank(8)], object)}, "serve_bytes"
    )
    codes = []
    for _ in range(3 * BATCH):
        try:
            limited.predict(single, timeout=0.005)
        except grpc.RpcError as error:
            codes.append(error.code())
    running.result()
    # On a busy machine, cancelled requests may fill the queue for a moment.
    assert Code.DEADLINE_EXCEEDED in codes
    assert set(codes) <= {Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE}
    check_outputs()


@pytest.mark.slow
def test_disconnected_clients_count_as_cancelled(limited, conv_model, check_outputs):
    body = json.dumps({"instances": conv_model.images(2).tolist()}).encode()
    for index in range(40):
        with contextlib.closing(limited.connect()) as connection:
            connection.putrequest("POST", f"{conv_model.path}:predict")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            connection.send(body[: len(body) // (1 + index % 3)])
    # Two thirds of the clients send only a part of the body.
    served.wait_until(lambda: count_requests(limited, "CANCELLED") >= 20)
    check_outputs()
    assert limited.post(f"{conv_model.path}:predict", body).status == 200


@pytest.mark.slow
def test_unfinished_body_times_out(limited, conv_model, check_outputs):
    with contextlib.closing(limited.connect()) as connection:
        connection.putrequest("POST", f"{conv_model.path}:predict")
        connection.putheader("Content-Length", "100")
        connection.endheaders(b'{"instances": ')
        check_outputs()
        response = served.read_response(connection)
    assert response.status == 504 and response.error


@pytest.mark.slow
def test_message_over_the_limit_is_rejected(limited, check_outputs):
    images = served.predict_request(CONV, {"images": np.zeros(BODY, "float32")})
    with pytest.raises(grpc.RpcError) as caught:
        limited.predict(images, timeout=60)
    assert caught.value.code() == Code.RESOURCE_EXHAUSTED
    check_outputs()


@pytest.mark.slow
def test_new_connections_replace_incomplete_requests(limited, conv_model):
    body = {"instances": conv_model.images(1).tolist()}
    request = served.predict_request(CONV, {"images": conv_model.images(1)})
    grpc_port = int(limited.grpc_address.rpartition(":")[2])
    for name, content in INCOMPLETE.items():
        port = grpc_port if name == "gRPC" else limited.port
        with contextlib.ExitStack() as stack:
            for _ in range(FILES):
                client = socket.create_connection((limited.host, port), 20)
                stack.enter_context(client)
                with contextlib.suppress(ConnectionError):
                    client.sendall(content)
            with grpc.insecure_channel(limited.grpc_address) as channel:
                ask = channel.unary_unary(served.PREDICT, bytes, bytes)
                message = request.SerializeToString()
                assert ask(message, timeout=20, wait_for_ready=True), name
            start = time.monotonic()
            assert limited.post(f"{conv_model.path}:predict", body).status == 200, name
            assert time.monotonic() - start < 25, name  # idle ones end after 30
    assert limited.process.poll() is None
