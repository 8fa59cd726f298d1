"""Clients that hold connections and send little."""

import contextlib
import json
import resource
import socket
import time

import pytest
from running import SECONDS, until

from elu_zoo.serving import connections
from elu_zoo.serving import server as server_module

MOST = 6
BODY = json.dumps({"signature_name": "scaled", "instances": [1.0]}).encode()
HEAD = b"POST /v1/models/net:predict HTTP/1.1\r\nHost: localhost\r\n"
INCOMPLETE = {
    "nothing": b"",
    "half a head": HEAD + b"X",
    "half a body": HEAD + b'Content-Length: 99\r\n\r\n{"inst',
}
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


@pytest.fixture
def few(run, monkeypatch):
    """A server that takes `MOST` connections."""
    monkeypatch.setattr(server_module, "max_per_port", lambda: MOST)
    return run()


@pytest.fixture
def connect():
    """Connects to a server and sends bytes."""
    with contextlib.ExitStack() as stack:

        def connect(running, content):
            host, port = running.server.rest_address.split(":")
            made = socket.create_connection((host, int(port)), SECONDS)
            stack.enter_context(made)
            made.sendall(content)
            return made

        yield connect


def is_closed(made):
    """Returns whether the server has closed a connection, by its end or a reset."""
    made.settimeout(0.05)
    try:
        return not made.recv(1000)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("incomplete", INCOMPLETE.values(), ids=INCOMPLETE)
def test_incomplete_requests_give_way(few, connect, incomplete):
    first = connect(few, WHOLE)
    assert b"200 OK" in first.recv(1000)
    made = [connect(few, incomplete) for _ in range(5 * MOST)]
    assert few.get("/v1/models/net:predict", BODY) == (200, '{"predictions":[2.0]}')
    until(lambda: sum(not is_closed(one) for one in made) <= MOST)
    assert is_closed(made[0]) and not is_closed(made[-1])


def test_the_longest_idle_connection_gives_way(few, connect):
    made = [connect(few, b"") for _ in range(MOST)]
    until(lambda: len(few.server._connections._requests) == MOST)
    made[0].sendall(WHOLE)
    assert b"200 OK" in made[0].recv(1000)
    connect(few, b"")
    until(lambda: is_closed(made[1]))
    assert not is_closed(made[0])


def test_a_running_request_keeps_its_connection(few, connect, gate):
    made = [connect(few, WHOLE) for _ in range(MOST)]
    until(lambda: few.server._rest.running == MOST)
    time.sleep(0.1)  # until their bodies have arrived
    until(lambda: is_closed(connect(few, WHOLE)))
    gate.set()
    for one in made:
        one.settimeout(SECONDS)
        assert b"200 OK" in one.recv(1000)
    assert few.get("/livez") == (200, "ok\n")


def test_an_idle_connection_is_closed(run, connect, monkeypatch):
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.2)
    running = run()
    made = [connect(running, INCOMPLETE[part]) for part in ("nothing", "half a head")]
    until(lambda: all(map(is_closed, made)))


def test_max_per_port(monkeypatch):
    found = []
    for soft in 200, 1000, resource.RLIM_INFINITY, 0:
        limit = (soft, -1)
        monkeypatch.setattr(resource, "getrlimit", lambda kind, limit=limit: limit)
        found.append(connections.max_per_port())
    assert 8 <= found[0] < 80 and found[0] + 390 < found[1] < 480
    assert found[2] > 10_000 and found[3] == 8
