"""A server starts with its settings, reports its health, and stops in time."""

import base64
import concurrent.futures
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import sys
import time
import weakref

import grpc
import numpy as np
import pytest
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from running import SECONDS, until
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from elu_zoo import errors
from elu_zoo.data import digits
from elu_zoo.serving import servable
from elu_zoo.serving import server as server_module
from elu_zoo.serving.settings import Settings

NAN = float("nan")
BODY = json.dumps({"signature_name": "scaled", "instances": [1.0]}).encode()


@pytest.mark.parametrize(("batched", "batches"), [(True, 2.0), (False, 7.0)])
def test_requests_are_joined_only_with_enable_batching(run, gate, monkeypatch, batched, batches):
    monkeypatch.setattr(server_module.os, "cpu_count", lambda: 1)
    running = run(enable_batching=batched)
    with concurrent.futures.ThreadPoolExecutor(7) as pool:
        responses = [pool.submit(running.get, "/v1/models/net:predict", BODY) for _ in range(7)]
        batcher = running.server._repository.serving()[0].batchers["scaled"]
        until(lambda: batcher._waiting == 6)
        gate.set()
        assert {response.result() for response in responses} == {(200, '{"predictions":[2.0]}')}
    labels = '{model_name="net",signature_name="scaled"}'
    text = running.get("/monitoring/prometheus/metrics")[1]
    assert f"elu_zoo_batch_size_count{labels} {batches}" in text
    assert f"elu_zoo_batch_size_sum{labels} 7.0" in text


def test_server_listens_on_the_host_only(run):
    running = run(host="127.0.0.2")
    assert running.get("/livez") == (200, "ok\n")
    for address in running.server.rest_address, running.server.grpc_address:
        host, port = address.split(":")
        assert host == "127.0.0.2"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(port)), SECONDS)


@pytest.mark.parametrize("setting", ["port", "rest_api_port"])
def test_occupied_port_raises_before_a_model_is_loaded(run, monkeypatch, setting):
    monkeypatch.setattr(servable, "load", pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        with pytest.raises(errors.ResourceError, match="--host, --rest_api_port"):
            run(**{setting: occupied.getsockname()[1]})


@pytest.mark.parametrize(
    ("name", "value"),
    [("file_system_poll_wait_seconds", NAN), ("drain_seconds", NAN)],
)
def test_wrong_settings_are_refused(name, value):
    with pytest.raises(errors.UsageError, match=f"{name} .*must .* Received: {value}"):
        Settings("models", **{name: value})


def test_models_that_cannot_be_loaded_raise_an_error(run, folder):
    for missing in ("variables/variables.index", "saved_model.pb"):
        (folder / "net/1" / missing).unlink()
        with pytest.raises(errors.CorruptError, match=f"cannot be served: .*{missing[:19]}"):
            run()


def test_stop_waits_for_a_running_request(run, gate):
    running = run()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        response = pool.submit(running.get, "/v1/models/net:predict", BODY)
        until(lambda: running.server._rest_api.running)
        stop = pool.submit(running.call, running.server.stop())
        time.sleep(0.5)
        assert not stop.done()
        gate.set()
        assert response.result() == (200, '{"predictions":[2.0]}')
        stop.result()


def test_stop_waits_until_a_response_is_sent(run):
    running, count = run(), 3_000_000  # more bytes than the system's buffers have
    body = json.dumps({"signature_name": "any_shape", "inputs": [0.5] * count})
    client = http.client.HTTPConnection(running.server.rest_address, timeout=SECONDS)
    client.request("POST", "/v1/models/net:predict", body)
    until(lambda: 'status="OK"' in running.get("/metrics")[1])
    with concurrent.futures.ThreadPoolExecutor(1) as pool, contextlib.closing(client):
        stop = pool.submit(running.call, running.server.stop())
        time.sleep(0.5)
        assert not stop.done()
        assert client.getresponse().read().count(b"1.0") == count
        stop.result()


def test_stop_responds_on_connections_that_the_system_has_queued(run, monkeypatch):
    running, clients = run(), []
    monkeypatch.setattr(server_module, "_STOP_IDLE_SECONDS", 1.0)
    host, port = running.server.rest_address.split(":")

    async def connect_and_stop():
        for _ in range(100):  # the event loop is blocked, and cannot accept them
            clients.append(socket.create_connection((host, int(port)), SECONDS))
            clients[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await running.server.stop()

    running.call(connect_and_stop())
    for client in clients:
        with client:
            assert client.recv(9) == b"HTTP/1.1 "


def test_drain_seconds_limit_the_wait_of_requests(run, gate):
    running = run(drain_seconds=0.2, file_system_poll_wait_seconds=60)
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "net", "scaled"
    request.inputs["values"].CopyFrom(tf.make_tensor_proto([1.0], tf.float32))
    with grpc.insecure_channel(running.server.grpc_address) as channel:
        predict = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict
        calls = [predict.future(request, timeout=SECONDS) for _ in range(80)]
        until(lambda: running.server._grpc_api.running == server_module._GRPC_THREADS)
        check = health_pb2_grpc.HealthStub(channel).Check(
            health_pb2.HealthCheckRequest(), timeout=SECONDS
        )
        assert check.status == health_pb2.HealthCheckResponse.SERVING
        client = socket.create_connection(running.server.rest_address.split(":"), SECONDS)
        client.sendall(b"POST /digit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        until(lambda: running.server._rest_api.running)
        start = time.monotonic()
        running.call(running.server.stop())
        with client:
            assert time.monotonic() - start < 4 and not client.recv(1)
        assert all(call.exception(SECONDS) for call in calls)


def test_server_is_ready_only_while_a_model_is_loaded(run, folder):
    running = run(file_system_poll_wait_seconds=0.02)
    assert running.get("/readyz") == (200, "ok\n")
    shutil.rmtree(folder / "net" / "1")
    until(lambda: running.get("/readyz")[0] == 503)
    assert running.get("/livez") == (200, "ok\n")


def test_the_page_gets_digits_in_the_form_of_mnist(run):
    running = run()
    paper = np.full((90, 120, 1), 240, np.uint8)
    blank = running.get("/digit", tf.io.encode_png(paper).numpy())
    assert blank[0] == 400 and "no ink" in blank[1]
    paper[10:60, 80:86] = 20
    status, text = running.get("/digit", tf.io.encode_png(paper).numpy())
    image = tf.io.decode_png(base64.b64decode(json.loads(text)["b64"])).numpy()
    np.testing.assert_array_equal(image, digits.normalize(paper)[0])
    assert (status, json.loads(text)["warning"]) == (200, "")
    with socket.create_connection(running.server.rest_address.split(":"), SECONDS) as slow:
        slow.sendall(b"POST /digit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        until(lambda: running.server._rest_api.running)
        assert running.get("/digit", tf.io.encode_png(paper).numpy()) == (status, text)
    with socket.create_connection(running.server.rest_address.split(":"), SECONDS) as bad:
        bad.sendall(b"POST /digit HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n")
        bad.sendall(b"Content-Length: 2\r\n\r\nxx")
        assert b" 400 " in bad.recv(99)
    large = tf.io.encode_png(np.zeros((1100, 1000, 1), np.uint8)).numpy()
    for body, code in ((b"text", 400), (large, 400), (bytes(2**21), 413)):
        assert running.get("/digit", body)[0] == code


def test_loaded_models_stay_in_service_when_the_folder_is_deleted(run, folder, caplog):
    running = run(file_system_poll_wait_seconds=0.02)
    folder.rename(folder.with_name("elsewhere"))
    until(lambda: "Models still in service: " in caplog.text)
    assert running.get("/v1/models/net:predict", BODY) == (200, '{"predictions":[2.0]}')
    time.sleep(0.2)
    warnings = [r for r in caplog.records if "was deleted" in r.getMessage()]
    assert len(warnings) == 1 and not warnings[0].exc_info
    folder.with_name("elsewhere").rename(folder)
    until(lambda: not running.server._last_poll.exception(SECONDS))
    folder.rename(folder.with_name("elsewhere"))
    until(lambda: caplog.text.count("was deleted") == 2)


def test_replaced_model_is_freed_after_its_last_request(run, folder):
    running = run(file_system_poll_wait_seconds=0.5)
    held = running.server._repository.serving()
    memory = weakref.ref(held[0]._saved.scale.handle)
    shutil.copytree(folder / "net/1", folder / "net/2")
    until(lambda: running.get("/v1/models/net/versions/2/metadata")[0] == 200)
    until(lambda: running.server._has_changed)
    held.clear()
    until(lambda: memory() is None)


HANGS = """
import asyncio, shutil, signal, sys, threading
from elu_zoo.serving import servable, server
base = sys.argv[1]

def wait(*_):
    signal.raise_signal(signal.SIGTERM)
    threading.Event().wait()

def started(running):
    if sys.argv[2] == "batch":
        batch = running._metrics.batch("net", "", 1)
        running._threads.submit(lambda: batch.__enter__() or wait())
    else:
        servable.load = wait
        shutil.copytree(f"{base}/net/1", f"{base}/net/2")

servable.load = wait if sys.argv[2] == "start" else servable.load
settings = server.Settings(base, "127.0.0.1", 0, 0, file_system_poll_wait_seconds=0.02)
asyncio.run(server.serve(settings, started))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("what", "code"), [("folder", 0), ("batch", 0), ("start", 143)])
def test_sigterm_ends_a_server_in_which_a_thread_hangs(folder, what, code):
    command = [sys.executable, "-c", HANGS, str(folder), what]
    result = subprocess.run(command, timeout=3 * SECONDS, capture_output=True)
    assert result.returncode == code, result.stderr
