"""After SIGTERM, the server still responds to all requests that have arrived."""

import concurrent.futures
import contextlib
import json
import signal
import threading
import time

import grpc
import numpy as np
import pytest
from png_files import blank

served = pytest.importorskip("served")

CONV = "elu_cifar_11"
# Requests that were sent this long before the signal are assumed to have arrived.
TRANSIT_SECONDS = 0.5


class Load:
    """Clients that send requests until `ends` is set or a request fails.

    Attributes:
        outcomes: (REST or gRPC, start, end, status or error) of each request.
    """

    def __init__(self, server, model, threads):
        self._server, self._path = server, f"{model.path}:predict"
        # The requests are slow, so that many wait for a thread when the server stops.
        file = np.array([blank(2500)], object)
        self._request = served.predict_request(CONV, {"image_bytes": file}, "serve_bytes")
        self._body = json.dumps({"instances": model.images(1).tolist()})
        self.ends = threading.Event()
        self.outcomes = []
        clients = [self._rest] * threads["REST"] + [self._grpc] * threads["gRPC"]
        self._channel = grpc.insecure_channel(server.grpc_address)
        self._pool = concurrent.futures.ThreadPoolExecutor(len(clients))
        self._clients = [self._pool.submit(ask) for ask in clients]

    def _rest(self):
        with contextlib.closing(self._server.connect()) as connection:
            while not self.ends.is_set():
                start = time.monotonic()
                try:
                    if connection.sock is None:
                        connection.connect()
                except ConnectionRefusedError:
                    return
                try:
                    connection.request("POST", self._path, self._body)
                    outcome = served.read_response(connection).status
                except OSError as error:
                    outcome = repr(error)
                    connection.close()
                self.outcomes.append(("REST", start, time.monotonic(), outcome))

    def _grpc(self):
        predict = self._channel.unary_unary(
            served.PREDICT, lambda message: message.SerializeToString(), bytes
        )
        while not self.ends.is_set():
            start, outcome = time.monotonic(), "OK"
            try:
                predict(self._request, timeout=60)
            except grpc.RpcError as error:
                outcome = error.code().name
            self.outcomes.append(("gRPC", start, time.monotonic(), outcome))
            if outcome != "OK":
                return

    def wait(self):
        for client in self._clients:
            client.result()
        self._pool.shutdown()
        self._channel.close()


def readiness(server):
    try:
        return server.get("/readyz").status
    except ConnectionError:
        return 503


@pytest.fixture
def server(exports, tmp_path):
    with served.start_server(exports, tmp_path / "log") as server:
        yield server


@pytest.mark.slow
def test_stop_under_load_loses_no_request(server):
    # The clients send more calls at a time than the server has threads.
    load = Load(server, server.model(CONV), {"REST": 8, "gRPC": 80})
    time.sleep(3)
    stopped = time.monotonic() - TRANSIT_SECONDS
    server.process.send_signal(signal.SIGTERM)
    served.wait_until(lambda: readiness(server) == 503)
    code = server.process.wait(40)
    load.ends.set()
    load.wait()
    earlier = [o for o in load.outcomes if o[1] < stopped]
    later = [o for o in load.outcomes if o[1] >= stopped]
    finished_late = [o for o in earlier if o[2] > stopped + TRANSIT_SECONDS]
    assert code == 0
    assert finished_late
    assert {outcome for *_, outcome in earlier} == {200, "OK"}
    # The connections of later requests may already be closed.
    assert {o for *_, o in later if isinstance(o, int)} <= {200, 503}
    for surface in ("REST", "gRPC"):
        assert sum(name == surface for name, *_ in earlier) > 20
