"""TF_CONFIG of a cluster, and the limited wait for missing machines."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from elu_zoo import errors
from elu_zoo.training.workers import cluster

PAIR = {"worker": ["a:1", "b:1"]}
WITH_CHIEF = {"chief": ["c:1"], **PAIR}
WITH_MASTER = {"worker": ["a:1"], "master": ["m:1"]}
WITH_EVALUATOR = {**WITH_CHIEF, "evaluator": ["e:1"]}


@pytest.mark.parametrize(
    ("machines", "kind", "index", "expected"),
    [
        ({"worker": ["a:1"]}, "worker", 0, (0, 1)),
        (PAIR, "worker", 1, (1, 2)),
        (WITH_CHIEF, "chief", 0, (0, 3)),
        (WITH_CHIEF, "worker", 1, (2, 3)),
        ({**PAIR, "chief": ["c:1"]}, "worker", 0, (1, 3)),
        (WITH_MASTER, "master", 0, (0, 2)),
        (WITH_EVALUATOR, "worker", 1, (2, 3)),
    ],
)
def test_machine_index_counts_the_chief_first(monkeypatch, machines, kind, index, expected):
    monkeypatch.setenv("TF_CONFIG", tf_config(machines, kind, index))
    assert cluster.machine_index() == expected


@pytest.mark.parametrize("text", [None, "", '{"cluster": {}, "task": {"index": 0}}'])
def test_without_a_cluster_there_is_one_machine(monkeypatch, text):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    assert cluster.machine_index() == (0, 1)


def tf_config(machines, kind="worker", index=0):
    return json.dumps({"cluster": machines, "task": {"type": kind, "index": index}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "TF_CONFIG must be JSON"),
        ("[]", "TF_CONFIG must be JSON"),
        ('{"cluster": {"worker": ["a:1"]}}', "KeyError"),
        (tf_config({"worker": ["a:1"]}, index="0"), "'0' is no integer"),
        (tf_config({"worker": ["a:1"]}, kind=["worker"]), "its cluster has 0 task"),
        (tf_config({"worker": ["a:x"]}), "'a:x' is not host:port"),
        (tf_config(PAIR, index=2), "its cluster has 2 task"),
        (tf_config(PAIR, index=-1), "its cluster has 2 task"),
        (tf_config({**PAIR, "ps": ["p:1"]}, kind="ps"), "types chief and worker"),
    ],
)
def test_invalid_clusters_are_refused(monkeypatch, text, message):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(errors.UsageError, match=message):
        cluster.machine_index()


def test_a_port_in_use_is_refused(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("TF_CONFIG", tf_config({"worker": [host, "b:1"]}))
        words = rf"address {host} for this machine \(worker 0\), .* be used: .*in use"
        with pytest.raises(errors.ResourceError, match=words), cluster.limited_wait():
            pytest.fail("the wait started")


@pytest.fixture
def free_address():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_the_wait_is_limited_and_restores_alarm_and_ctrl_c(monkeypatch, free_address, caplog):
    monkeypatch.setenv("TF_CONFIG", tf_config({"worker": [free_address, "b:1"]}))
    before = signal.getsignal(signal.SIGINT)
    with caplog.at_level("INFO", "absl"), cluster.limited_wait():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert 590 < signal.getitimer(signal.ITIMER_REAL)[0] <= 600
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert "Waiting for worker 1 (b:1). This process ends" in caplog.text


def test_a_wait_that_runs_no_python_code_ends_at_the_limit(free_address):
    code = """if True:
        import ctypes
        import signal
        from elu_zoo.training.workers import cluster
        cluster._WAIT_SECONDS = 1
        signal.signal(signal.SIGALRM, print)  # the user's; Python cannot call it
        with cluster.limited_wait():
            ctypes.PyDLL(None).sleep(60)  # keeps the GIL, as TensorFlow does
    """
    environment = {**os.environ, "TF_CONFIG": tf_config({"worker": [free_address, "b:1"]})}
    process = subprocess.run([sys.executable, "-c", code], env=environment, timeout=30)
    assert process.returncode == -signal.SIGALRM
