"""Clients that keep connections open and send little do not block other clients."""

import contextlib
import json
import resource
import socket
import time
from unittest import mock

import pytest
from running import SECONDS, until

from elu_zoo.serving import connections
from elu_zoo.serving import server as server_module

LIMIT = 6
BODY = json.dumps({"signature_name": "scaled", "instances": [1.0]}).encode()
HEAD = b"POST /v1/models/net:predict HTTP/1.1\r\nHost: localhost\r\n"
COMPLETE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


@pytest.fixture
def limited(run, monkeypatch):
    """Starts a server that accepts `LIMIT` connections."""
    monkeypatch.setattr(server_module, "max_per_port", lambda: LIMIT)
    return run()


@pytest.fixture
def connect():
    """Returns a function that connects to a server, and sends bytes."""
    with contextlib.ExitStack() as stack:

        def connect(running, content):
            host, port = running.server.rest_address.split(":")
            client = socket.create_connection((host, int(port)), SECONDS)
            stack.enter_context(client)
            client.sendall(content)
            return client

        yield connect


def is_closed(client):
    """Returns whether the server has closed or reset the connection of a client."""
    client.settimeout(0.05)
    try:
        return not client.recv(1000)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_new_connection_replaces_the_longest_idle_connection(limited, connect):
    clients = [connect(limited, b"") for _ in range(LIMIT)]
    until(lambda: len(limited.server._connections._requests) == LIMIT)
    clients[0].sendall(COMPLETE)
    assert b"200 OK" in clients[0].recv(1000)
    connect(limited, b"")
    until(lambda: is_closed(clients[1]))
    assert not is_closed(clients[0])


def test_a_replaced_connection_is_cut_though_its_client_does_not_read():
    limited, old = connections.Connections(1), mock.Mock()
    assert limited.add(old) and limited.add(mock.Mock())
    old.transport.abort.assert_called_once_with()


def test_running_request_keeps_its_connection(limited, connect, gate):
    clients = [connect(limited, COMPLETE) for _ in range(LIMIT)]
    until(lambda: limited.server._rest_api.running == LIMIT)
    time.sleep(0.1)  # the bodies of the requests must arrive
    until(lambda: is_closed(connect(limited, COMPLETE)))
    gate.set()
    for client in clients:
        client.settimeout(SECONDS)
        assert b"200 OK" in client.recv(1000)
    assert limited.get("/livez") == (200, "ok\n")


def test_idle_connections_are_closed(run, connect, monkeypatch):
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.2)
    running = run()
    clients = [connect(running, content) for content in (b"", HEAD + b"X")]
    until(lambda: all(map(is_closed, clients)))


def test_max_per_port_follows_the_limit_of_file_descriptors(monkeypatch):
    limits = []
    for soft in 200, 1000, resource.RLIM_INFINITY, 0:
        limit = (soft, -1)
        monkeypatch.setattr(resource, "getrlimit", lambda kind, limit=limit: limit)
        limits.append(connections.max_per_port())
    assert 8 <= limits[0] < 80 and limits[0] + 390 < limits[1] < 480
    assert limits[2] > 10_000 and limits[3] == 8
