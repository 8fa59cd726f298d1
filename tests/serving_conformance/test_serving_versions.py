"""New, deleted and damaged versions while our server runs."""

import shutil
import threading

import grpc
import numpy as np
import pytest

served = pytest.importorskip("served")

CONV = "elu_cifar_11"


@pytest.fixture(scope="module")
def folder(exports, tmp_path_factory):
    """A copy of the conv net's export, which tests may change."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(exports / CONV, folder / CONV)
    return folder


@pytest.fixture(scope="module")
def watching(folder, tmp_path_factory):
    """Our server, polling twenty times a second."""
    log = tmp_path_factory.mktemp("watching") / "log"
    poll = "--file_system_poll_wait_seconds=0.05"
    with served.started(folder, log, poll) as server:
        yield server


class Requests:
    """Sends requests in a thread; records the versions that answered and the errors."""

    def __init__(self, server, model):
        images = {"images": model.images(1)}
        self._request = served.predict_request(model.name, images)
        self._server, self._ends = server, threading.Event()
        self.versions, self.errors = [], []
        self._thread = threading.Thread(target=self._ask)

    def _ask(self):
        while not self._ends.wait(0.005):
            try:
                answer = self._server.predict(self._request, timeout=60)
                self.versions.append(answer.model_spec.version.value)
            except grpc.RpcError as error:
                self.errors.append(error.details())

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()


def is_answered_by(server, version):
    return lambda: server.model(CONV).version == version


def state(server, name, version):
    return server.states(name).get(version, ("", ""))[0]


def test_versions(watching, folder):
    """One test, because each step starts where the previous one ended."""
    model = watching.model(CONV)
    one, two, three = (folder / CONV / str(version) for version in (1, 2, 3))
    images = {"images": model.images(2)}
    expected = served.arrays(
        watching.predict(served.predict_request(CONV, images), timeout=60)
    )
    with Requests(watching, model) as requests:
        # Half copied: a part of the graph, no variables.
        two.mkdir()
        graph = (one / "saved_model.pb").read_bytes()
        (two / "saved_model.pb").write_bytes(graph[: len(graph) // 2])
        served.wait_until(lambda: state(watching, CONV, 2) == "END")
        states = watching.states(CONV)
        assert states[1] == ("AVAILABLE", "") and states[2][1]
        assert watching.model(CONV).version == 1
        document = watching.get(f"{model.path}/versions/2").json
        (row,) = document["model_version_status"]
        assert row["state"] == "END" and row["status"]["error_message"]
        assert row["status"]["error_code"] != "OK"

        shutil.copytree(one, two, dirs_exist_ok=True)
        served.wait_until(is_answered_by(watching, 2))
        served.wait_until(lambda: state(watching, CONV, 1) == "END")
        assert watching.states(CONV)[2] == ("AVAILABLE", "")

        three.mkdir()
        (three / "saved_model.pb").write_bytes(b"no graph")
        served.wait_until(lambda: state(watching, CONV, 3) == "END")
        assert watching.states(CONV)[3][1]
        assert watching.model(CONV).version == 2
        assert watching.get("/readyz").status == 200

        shutil.rmtree(three)
        shutil.rmtree(two)
        served.wait_until(is_answered_by(watching, 1))
        served.wait_until(lambda: state(watching, CONV, 2) == "END")
        assert watching.states(CONV)[1] == ("AVAILABLE", "")
        served.wait_until(lambda: requests.versions[-1] == 1)
    assert not requests.errors
    assert sorted(set(requests.versions)) == [1, 2]
    changes = np.flatnonzero(np.diff(requests.versions))
    assert len(changes) == 2
    found = watching.predict(served.predict_request(CONV, images), timeout=60)
    served.assert_equal(served.arrays(found), expected)


def names(server):
    return [found["name"] for found in server.get("/models").json]


def test_a_new_and_a_deleted_model(watching, folder):
    shutil.copytree(folder / CONV / "1", folder / "second" / "7")
    served.wait_until(lambda: "second" in names(watching))
    assert watching.model("second").version == 7
    assert watching.states("second") == {7: ("AVAILABLE", "")}
    shutil.rmtree(folder / "second")
    served.wait_until(lambda: "second" not in names(watching))
    assert watching.post("/v1/models/second:predict", {}).status == 404
    assert names(watching) == [CONV]
    assert watching.get("/readyz").status == 200
