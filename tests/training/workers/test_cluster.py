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
LED = {"chief": ["c:1"], **PAIR}
MASTERED = {"worker": ["a:1"], "master": ["m:1"]}
MEASURED = {**LED, "evaluator": ["e:1"]}


@pytest.mark.parametrize(
    ("machines", "kind", "index", "expected"),
    [
        ({"worker": ["a:1"]}, "worker", 0, (0, 1)),
        ({"chief": ["a:1"]}, "chief", 0, (0, 1)),
        (PAIR, "worker", 0, (0, 2)),
        (PAIR, "worker", 1, (1, 2)),
        (LED, "chief", 0, (0, 3)),
        (LED, "worker", 0, (1, 3)),
        (LED, "worker", 1, (2, 3)),
        ({**PAIR, "chief": ["c:1"]}, "worker", 0, (1, 3)),
        (MASTERED, "master", 0, (0, 2)),
        (MASTERED, "worker", 0, (1, 2)),
        (MEASURED, "worker", 1, (2, 3)),
    ],
)
def test_place(monkeypatch, machines, kind, index, expected):
    task = {"type": kind, "index": index}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": machines, "task": task}))
    assert cluster.place() == expected


@pytest.mark.parametrize("text", [None, "", '{"cluster": {}, "task": {"index": 0}}'])
def test_place_without_a_cluster(monkeypatch, text):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    assert cluster.place() == (0, 1)


def named(machines, kind="worker", index=0):
    return json.dumps({"cluster": machines, "task": {"type": kind, "index": index}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "TF_CONFIG must be JSON"),
        ("[]", "TF_CONFIG must be JSON"),
        ('{"cluster": {"worker": ["a:1"]}}', "KeyError"),
        (named({"worker": ["a:1"]}, index="0"), "'0' is no integer"),
        (named({"worker": ["a:1"]}, index=True), "True is no integer"),
        (named({"worker": ["a:1"]}, kind=["worker"]), "its cluster has 0 task"),
        (named({"worker": []}), "its cluster has 0 task"),
        (named({"worker": ["a:x"]}), "'a:x' is not host:port"),
        (named({"worker": [7]}), "TypeError"),
        (named(PAIR, index=2), "its cluster has 2 task"),
        (named(PAIR, index=-1), "its cluster has 2 task"),
        (named({**PAIR, "ps": ["p:1"]}, kind="ps"), "types chief and worker"),
    ],
)
def test_invalid_clusters(monkeypatch, text, message):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(errors.UsageError, match=message):
        cluster.place()


def test_addresses_in_the_order_of_machines(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", named({"worker": ["a:1", "b:1"], "chief": ["c:1"]}))
    expected = {"chief 0": "c:1", "worker 0": "a:1", "worker 1": "b:1"}
    assert cluster.addresses() == expected
    assert list(cluster.addresses()) == list(expected)


def test_a_port_in_use(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("TF_CONFIG", named({"worker": [own, "b:1"]}))
        words = rf"address {own} for this machine \(worker 0\), .* be used: .*in use"
        with pytest.raises(errors.ResourceError, match=words), cluster.await_peers():
            pytest.fail("began")


def test_the_watchdog_ends_with_the_wait(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = f"127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.setenv("TF_CONFIG", named({"worker": [free, "b:1"]}))
    made, start = [], subprocess.Popen

    def remembered(*arguments, **keywords):
        made.append(start(*arguments, **keywords))
        return made[-1]

    monkeypatch.setattr(cluster.subprocess, "Popen", remembered)
    before = signal.getsignal(signal.SIGINT)
    with cluster.await_peers():
        assert made[0].poll() is None
        # Ctrl-C ends this process, and does not reach the watchdog.
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert os.getsid(made[0].pid) == made[0].pid
    assert signal.getsignal(signal.SIGINT) is before
    assert made[0].returncode == 0


@pytest.fixture
def watched():
    """Starts a process that waits, and its watchdog with a timeout."""
    started = []

    def start(others, limit):
        sleeping = subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1)
        code = f"import waiting; waiting.watch({sleeping.pid}, {others}, {limit}, 0.1)"
        watching = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=waiting.__file__.rpartition("/")[0],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.extend([sleeping, watching])
        return sleeping, watching

    yield start
    for process in started:
        with process:
            process.kill()


def test_missing_machines_are_named(watched):
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = f"127.0.0.1:{server.getsockname()[1]}"
        sleeping, watching = watched([f"worker 1={there}", "worker 2=localhost:9"], 0.5)
        lines = watching.stderr.read().splitlines()
        assert sleeping.wait(10) == -signal.SIGALRM
    *earlier, last = lines
    assert all(line.startswith("waiting: After 0 s these machines") for line in earlier)
    assert "do not answer: worker 2 (localhost:9). Start all machines" in last
    assert earlier and last.startswith("error: ") and there not in "".join(lines)


def test_machines_that_listen_and_do_not_join(watched):
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = f"127.0.0.1:{server.getsockname()[1]}"
        _, watching = watched([f"worker 1={own}"], 0)
        assert "none, but some have not joined yet" in watching.stderr.read()


def test_the_watchdog_ends_with_its_process(watched):
    sleeping, watching = watched(["worker 1=localhost:9"], 60)
    watching.communicate(timeout=10)
    assert watching.returncode == 0 and sleeping.poll() is None
