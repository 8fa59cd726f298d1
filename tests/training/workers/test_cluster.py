"""TF_CONFIG of a cluster, and the watchdog that ends the wait for missing machines."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from elu_zoo import errors
from elu_zoo.training.workers import cluster, waiting

PAIR = {"worker": ["a:1", "b:1"]}
WITH_CHIEF = {"chief": ["c:1"], **PAIR}
WITH_MASTER = {"worker": ["a:1"], "master": ["m:1"]}
WITH_EVALUATOR = {**WITH_CHIEF, "evaluator": ["e:1"]}


@pytest.mark.parametrize(
    ("machines", "kind", "index", "expected"),
    [
        ({"worker": ["a:1"]}, "worker", 0, (0, 1)),
        ({"chief": ["a:1"]}, "chief", 0, (0, 1)),
        (PAIR, "worker", 0, (0, 2)),
        (PAIR, "worker", 1, (1, 2)),
        (WITH_CHIEF, "chief", 0, (0, 3)),
        (WITH_CHIEF, "worker", 0, (1, 3)),
        (WITH_CHIEF, "worker", 1, (2, 3)),
        ({**PAIR, "chief": ["c:1"]}, "worker", 0, (1, 3)),
        (WITH_MASTER, "master", 0, (0, 2)),
        (WITH_MASTER, "worker", 0, (1, 2)),
        (WITH_EVALUATOR, "worker", 1, (2, 3)),
    ],
)
def test_place_counts_the_chief_first(monkeypatch, machines, kind, index, expected):
    monkeypatch.setenv("TF_CONFIG", tf_config(machines, kind, index))
    assert cluster.place() == expected


@pytest.mark.parametrize("text", [None, "", '{"cluster": {}, "task": {"index": 0}}'])
def test_without_a_cluster_place_returns_number_0_of_1_machine(monkeypatch, text):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    assert cluster.place() == (0, 1)


def tf_config(machines, kind="worker", index=0):
    return json.dumps({"cluster": machines, "task": {"type": kind, "index": index}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "TF_CONFIG must be JSON"),
        ("[]", "TF_CONFIG must be JSON"),
        ('{"cluster": {"worker": ["a:1"]}}', "KeyError"),
        (tf_config({"worker": ["a:1"]}, index="0"), "'0' is no integer"),
        (tf_config({"worker": ["a:1"]}, index=True), "True is no integer"),
        (tf_config({"worker": ["a:1"]}, kind=["worker"]), "its cluster has 0 task"),
        (tf_config({"worker": []}), "its cluster has 0 task"),
        (tf_config({"worker": ["a:x"]}), "'a:x' is not host:port"),
        (tf_config({"worker": [7]}), "TypeError"),
        (tf_config(PAIR, index=2), "its cluster has 2 task"),
        (tf_config(PAIR, index=-1), "its cluster has 2 task"),
        (tf_config({**PAIR, "ps": ["p:1"]}, kind="ps"), "types chief and worker"),
    ],
)
def test_invalid_clusters_are_refused(monkeypatch, text, message):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(errors.UsageError, match=message):
        cluster.place()


def test_addresses_are_in_the_order_of_machines(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", tf_config({"worker": ["a:1", "b:1"], "chief": ["c:1"]}))
    expected = {"chief 0": "c:1", "worker 0": "a:1", "worker 1": "b:1"}
    assert cluster.addresses() == expected
    assert list(cluster.addresses()) == list(expected)


def test_a_port_in_use_is_refused(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("TF_CONFIG", tf_config({"worker": [host, "b:1"]}))
        words = rf"address {host} for this machine \(worker 0\), .* be used: .*in use"
        with pytest.raises(errors.ResourceError, match=words), cluster.await_peers():
            pytest.fail("the wait started")


def test_the_watchdog_ends_when_all_machines_have_joined(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.setenv("TF_CONFIG", tf_config({"worker": [address, "b:1"]}))
    started, popen = [], subprocess.Popen

    def recorded(*arguments, **keywords):
        started.append(popen(*arguments, **keywords))
        return started[-1]

    monkeypatch.setattr(cluster.subprocess, "Popen", recorded)
    before = signal.getsignal(signal.SIGINT)
    with cluster.await_peers():
        (watchdog,) = started
        assert watchdog.poll() is None
        # Ctrl-C ends this process, and not the watchdog, which is in another session.
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert os.getsid(watchdog.pid) == watchdog.pid
    assert signal.getsignal(signal.SIGINT) is before
    assert watchdog.returncode == 0


@pytest.fixture
def watched():
    """A function that starts a sleeping process, and a watchdog of that process."""
    started = []

    def start(others, timeout):
        sleeping = subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1)
        code = f"import waiting; waiting.watch({sleeping.pid}, {others}, {timeout}, 0.1)"
        watching = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=waiting.__file__.rpartition("/")[0],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )  # fmt: skip
        started.extend([sleeping, watching])
        return sleeping, watching

    yield start
    for process in started:
        with process:
            process.kill()


def test_the_watchdog_ends_the_wait_and_names_missing_machines(watched):
    with socket.create_server(("127.0.0.1", 0)) as server:
        present = f"127.0.0.1:{server.getsockname()[1]}"
        sleeping, watching = watched([f"worker 1={present}", "worker 2=localhost:9"], 0.5)
        lines = watching.stderr.read().splitlines()
        assert sleeping.wait(10) == -signal.SIGALRM
    *earlier, last = lines
    assert all(line.startswith("waiting: After 0 s these machines") for line in earlier)
    assert "do not answer: worker 2 (localhost:9). Start all machines" in last
    assert earlier and last.startswith("error: ") and present not in "".join(lines)


def test_machines_that_listen_but_do_not_join_are_not_called_missing(watched):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        _, watching = watched([f"worker 1={address}"], 0)
        assert "none, but some have not joined yet" in watching.stderr.read()
