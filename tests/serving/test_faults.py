"""Requests and folders that once stopped or misled the server."""

import asyncio
import concurrent.futures
import http.client
import json
import logging
import shutil

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from running import SECONDS, until

from elu_zoo.serving import server as server_module
from elu_zoo.serving.settings import Settings

States = health_pb2.HealthCheckResponse
PATH = "/v1/models/net:predict"
BODY = json.dumps({"signature_name": "scaled", "instances": [1.0]}).encode()
TWO = json.dumps({"signature_name": "scaled", "instances": [1.0, 2.0]}).encode()
CORS = {"rest_api_enable_cors_support": True}
ORIGIN = "Access-Control-Allow-Origin"
# case: (settings, method, path, body, request headers, status, word of the content).
REQUESTS = {
    "a coding aiohttp lacks": ({}, "POST", PATH, BODY, {"Content-Encoding": "br"}, 400, "(br)"),
    "an unknown coding": ({}, "POST", PATH, b"?", {"Content-Encoding": "xyz"}, 400, "JSON"),
    "not HTTP": ({}, "A@B", PATH, None, {}, 400, "Malformed"),
    "outputs": ({"max_output_values": 1}, "POST", PATH, TWO, {}, 429, "2 values"),
    "fewer outputs": ({"max_output_values": 1}, "POST", PATH, BODY, {}, 200, "2.0"),
    "metrics": ({}, "GET", "/metrics", None, {}, 200, "elu_zoo_batch_size"),
    "no CORS": ({}, "OPTIONS", PATH, None, {}, 400, "OPTIONS"),
    "CORS": (CORS, "OPTIONS", PATH, None, {}, 200, ""),
    "CORS of an error": (CORS, "POST", PATH, b"?", {}, 400, "JSON"),
    "CORS off /v1": (CORS, "GET", "/models", None, {}, 200, "net"),
}


@pytest.mark.parametrize("settings", [{}, {"max_output_values": 1}, CORS], ids=str)
def test_responses(run, settings):
    """One server answers all requests, because a start takes a second."""
    running = run(**settings)
    cases = {case: row for case, (of, *row) in REQUESTS.items() if of == settings}
    assert len(cases) > 1
    for case, (method, path, body, headers, status, word) in cases.items():
        connection = http.client.HTTPConnection(running.server.rest_address, timeout=SECONDS)
        connection.request(method, path, body, headers)
        with connection.getresponse() as response:
            content = response.read().decode()
        connection.close()
        sniffed = response.headers["X-Content-Type-Options"]
        assert (response.status, sniffed) == (status, "nosniff"), case
        assert word in content, case
        if status >= 400:
            assert "\n" not in json.loads(content)["error"], case
        allowed = "*" if settings == CORS and path == PATH else None
        assert response.headers[ORIGIN] == allowed, case


def test_a_batch_that_does_not_end_is_not_ready(run, gate, folder):
    running = run(rest_api_timeout_in_ms=300, file_system_poll_wait_seconds=0.05)
    folder.rename(folder.with_name("elsewhere"))  # so that polls fail
    with grpc.insecure_channel(running.server.grpc_address) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check

        def has_status(status):
            return check(health_pb2.HealthCheckRequest(), timeout=SECONDS).status == status

        assert running.get("/readyz") == (200, "ok\n")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            response = pool.submit(running.get, PATH, BODY)
            until(lambda: running.get("/readyz")[0] == 503)
            until(lambda: has_status(States.NOT_SERVING))
            assert running.get("/livez") == (200, "ok\n")
            gate.set()
            assert response.result()[0] == 504
        until(lambda: has_status(States.SERVING))
        assert running.get("/readyz") == (200, "ok\n")


def test_other_folders_are_named_in_one_line(run, folder, caplog):
    shutil.copytree(folder / "net" / "1", folder / "a\nb" / "1")
    for name in ("notes", ".hidden", "net/best"):
        (folder / name).mkdir()
    (folder / "net" / "1").rename(folder / "net" / "0")
    running = run(file_system_poll_wait_seconds=0.01)
    last = running.server._last_poll
    until(lambda: running.server._last_poll is not last)
    lines = [r.getMessage() for r in caplog.records if "not served" in r.getMessage()]
    assert len(lines) == 1 and "\n" not in lines[0] and "hidden" not in lines[0]
    assert all(f"{name}'" in lines[0] for name in ("a\\nb", "notes", "net/best"))
    assert running.get("/v1/models/net/versions/0")[0] == 200
    assert [model["version"] for model in json.loads(running.get("/models")[1])] == [0]


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_other_machines_are_warned_of(monkeypatch, caplog, host, warns):
    monkeypatch.delattr(server_module, "Server")  # nothing is served
    with caplog.at_level(logging.WARNING), pytest.raises(NameError):
        asyncio.run(server_module.serve(Settings("", host=host), print))
    assert (host in caplog.text) == warns
