"""Bodies that are refused before they are parsed, and large ones that are not."""

import asyncio
import json
import socket
import time
import types

import pytest
from running import SECONDS, until

from elu_zoo.serving import bodies, json_format

PATH = "/v1/models/net:predict"
SPACE = 1 << 16  # more than what is counted


@pytest.fixture
def numbers(signature):
    """A model that takes batches of 10 numbers an example."""
    made = signature({"x": ("float", (None, 10))}, {"y": ("float", (None,))})
    return types.SimpleNamespace(signatures={"": made})


@pytest.fixture
def pictures(signature):
    made = signature({"x_bytes": ("string", (None,))}, {"y": ("float", (None,))})
    return types.SimpleNamespace(signatures={"": made})


@pytest.fixture
def texts(signature):
    made = signature({"x": ("string", (None,))}, {"y": ("float", (None,))})
    return types.SimpleNamespace(signatures={"": made})


def test_the_largest_signature_counts(numbers, pictures, texts):
    limits = bodies.Bodies(10**7, 100)
    assert limits._most(numbers) == (1000 * 25 + SPACE, 1000 + SPACE)
    assert bodies.Bodies(1000, 100)._most(numbers) == (1000, 1000 + SPACE)
    assert limits._most(pictures) == (10**7, 100 + SPACE)
    both = types.SimpleNamespace(
        signatures={"a": numbers.signatures[""], "b": pictures.signatures[""]}
    )
    assert limits._most(both) == (10**7, 1000 + SPACE)
    assert limits._most(texts) == (10**7, float("inf"))


@pytest.fixture
def unparsed(run, pictures, monkeypatch):
    """Asks a model of one number an example, with or without a signature of files."""
    running = run(max_batch_size=100)
    (found,) = running.server._repository.serving()
    scaled = {"scaled": found.signatures["scaled"]}

    def ask(body, files):
        only = {**scaled, **(pictures.signatures if files else {})}
        monkeypatch.setitem(vars(found), "signatures", only)
        return running.get(PATH, body)

    monkeypatch.setattr(json_format, "_parse", pytest.fail)
    return ask


@pytest.mark.parametrize("kind", ["length", "chunked"])
def test_more_bytes_than_a_batch_needs(unparsed, kind):
    body = b" " * 70_000
    answer = unparsed(body if kind == "length" else iter([body]), files=False)
    assert answer == (413, '{"error":"The body is larger than 68036 bytes"}')


def test_more_values_than_a_batch_has(unparsed):
    body = b'{"instances": [' + b"1," * 70_000 + b"1]}"
    text = "The body has more values than a batch of 100 examples"
    assert unparsed(body, files=True) == (413, f'{{"error":"{text}"}}')


def test_large_bodies_take_turns(run, monkeypatch):
    running, at_work, most = run(), [], []
    plain = json_format.read

    def read(*arguments):
        at_work.append(1)
        most.append(len(at_work))
        time.sleep(0.05)
        at_work.pop()
        return plain(*arguments)

    monkeypatch.setattr(json_format, "read", read)
    document = {"signature_name": "scaled", "instances": [1.0], "x": "a" * SPACE}
    body = json.dumps(document).encode()

    async def ask():
        asks = (asyncio.to_thread(running.get, PATH, body) for _ in range(4))
        start = time.monotonic()
        answers = await asyncio.gather(*asks)
        return answers, time.monotonic() - start

    answers, seconds = asyncio.run(ask())
    assert answers == [(200, '{"predictions":[2.0]}')] * 4
    assert most == [1] * 4
    assert seconds > 6 * 0.05  # between two of them, as long as one takes


def test_the_rest_of_a_refused_body_is_read_for_a_while(run, monkeypatch):
    monkeypatch.setattr(bodies, "_DISCARD_SECONDS", 0.3)
    running = run(max_body_bytes=2000)
    host, port = running.server.rest_address.split(":")
    with socket.create_connection((host, int(port)), SECONDS) as made:
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999"
        made.sendall(f"{head}\r\n\r\n".encode())
        assert b" 413 " in made.recv(1000)
        made.sendall(b" " * 1000)
        until(lambda: not running.server._rest.running)
        made.settimeout(SECONDS)
        assert made.recv(1000) == b""
