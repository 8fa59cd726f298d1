"""Our server loads added versions and unloads deleted versions while it runs."""

import shutil
import threading

import grpc
import numpy as np
import pytest

served = pytest.importorskip("served")

CONV = "elu_cifar_11"


@pytest.fixture(scope="module")
def folder(exports, tmp_path_factory):
    """Returns a copy of the export of elu_cifar_11, which tests may change."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(exports / CONV, folder / CONV)
    return folder


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    """Starts our server, which polls for versions twenty times per second."""
    log = tmp_path_factory.mktemp("watching") / "log"
    poll = "--file_system_poll_wait_seconds=0.05"
    with served.start_server(folder, log, poll) as server:
        yield server


class Requests:
    """Sends requests in a thread, and records errors and versions that responded."""

    def __init__(self, server, model):
        images = {"images": model.images(1)}
        self._request = served.predict_request(model.name, images)
        self._server, self._ends = server, threading.Event()
        self.versions, self.errors = [], []
        self._thread = threading.Thread(target=self._ask)

    def _ask(self):
        while not self._ends.wait(0.005):
            try:
                response = self._server.predict(self._request, timeout=60)
                self.versions.append(response.model_spec.version.value)
            except grpc.RpcError as error:
                self.errors.append(error.details())

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()


def serves(server, version):
    return lambda: server.model(CONV).version == version


def state(server, name, version):
    return server.states(name).get(version, ("", ""))[0]


@pytest.mark.slow
def test_versions_are_loaded_replaced_and_unloaded(server, folder):
    """One test has all steps, because each step needs the result of the last step."""
    model = server.model(CONV)
    one, two = (folder / CONV / str(version) for version in (1, 2))
    images = {"images": model.images(2)}
    expected = served.arrays(server.predict(served.predict_request(CONV, images), timeout=60))
    with Requests(server, model) as requests:
        # Version 2 is incomplete: it has half of the graph and no variables.
        two.mkdir()
        graph = (one / "saved_model.pb").read_bytes()
        (two / "saved_model.pb").write_bytes(graph[: len(graph) // 2])
        served.wait_until(lambda: state(server, CONV, 2) == "END")
        states = server.states(CONV)
        assert states[1] == ("AVAILABLE", "") and states[2][1]
        assert server.model(CONV).version == 1
        assert server.get("/readyz").status == 200
        document = server.get(f"{model.path}/versions/2").json
        (row,) = document["model_version_status"]
        assert row["state"] == "END" and row["status"]["error_message"]
        assert row["status"]["error_code"] != "OK"

        shutil.copytree(one, two, dirs_exist_ok=True)
        served.wait_until(serves(server, 2))
        served.wait_until(lambda: state(server, CONV, 1) == "END")
        assert server.states(CONV)[2] == ("AVAILABLE", "")

        shutil.rmtree(two)
        served.wait_until(serves(server, 1))
        served.wait_until(lambda: state(server, CONV, 2) == "END")
        assert server.states(CONV)[1] == ("AVAILABLE", "")
        served.wait_until(lambda: requests.versions[-1] == 1)
    assert not requests.errors
    assert sorted(set(requests.versions)) == [1, 2]
    changes = np.flatnonzero(np.diff(requests.versions))
    assert len(changes) == 2
    response = server.predict(served.predict_request(CONV, images), timeout=60)
    served.assert_equal(served.arrays(response), expected)
