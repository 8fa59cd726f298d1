"""Limits of HTTP request bodies are checked before a body is parsed."""

import asyncio
import concurrent.futures
import json
import threading
import time
import types

import pytest
from running import SECONDS, until

from elu_zoo.serving import bodies, json_format
from elu_zoo.serving.settings import Settings

PATH = "/v1/models/net:predict"
SMALL = 1 << 16
# kind of signature: {input: (type, shape)}.
INPUTS = {
    "numbers": {"x": ("float", (None, 10))},
    "files": {"x_bytes": ("string", (None,))},
    "texts": {"x": ("string", (None,))},
}


@pytest.mark.parametrize(
    ("kinds", "max_body_bytes", "expected"),
    [
        (["numbers"], 10**7, (1000 * 25 + SMALL, 1000 + SMALL)),  # (bytes, values)
        (["numbers"], 1000, (1000, 1000 + SMALL)),
        (["files"], 10**7, (10**7, 100 + SMALL)),
        (["numbers", "files"], 10**7, (10**7, 1000 + SMALL)),
        (["texts"], 10**7, (10**7, float("inf"))),
    ],
)
def test_largest_signature_sets_the_limits(signature, kinds, max_body_bytes, expected):
    outputs = {"y": ("float", (None,))}
    signatures = {kind: signature(INPUTS[kind], outputs) for kind in kinds}
    settings = Settings("", max_body_bytes=max_body_bytes, max_batch_size=100)
    model = types.SimpleNamespace(signatures=signatures)
    assert bodies.Bodies(settings)._limits(model) == expected


@pytest.fixture
def send(run, signature, monkeypatch):
    """Returns a function that sends a body; the test fails if the body is parsed."""
    running = run(max_batch_size=100)
    (model,) = running.server._repository.serving()
    files = signature(INPUTS["files"], {"y": ("float", (None,))})

    def send(body, with_files):
        signatures = {"scaled": model.signatures["scaled"]}
        signatures |= {"files": files} if with_files else {}
        monkeypatch.setitem(vars(model), "signatures", signatures)
        return running.get(PATH, body)

    monkeypatch.setattr(json_format, "_parse", pytest.fail)
    return send


def test_too_large_bodies_are_not_parsed(send):
    too_large = 413, '{"error":"The request body is larger than 68036 bytes"}'
    body = b" " * 70_000
    assert send(body, with_files=False) == too_large
    assert send(iter([body]), with_files=False) == too_large  # chunked
    text = "The request body has more values than 100 examples of the model"
    for values in (b"1," * 70_000, b"[" * 140_000):
        body = b'{"instances": [' + values
        assert send(body, with_files=True) == (413, f'{{"error":"{text}"}}')


def test_a_cancelled_conversion_lets_others_wait_until_it_ends(caplog):
    starts, ends = threading.Event(), threading.Event()

    async def cancel():
        shared = bodies.Bodies(Settings(""))
        fail = shared._convert(SMALL + 1, lambda: starts.set() or ends.wait(SECONDS) / 0)
        work = asyncio.create_task(fail)
        await asyncio.to_thread(starts.wait)
        work.cancel()
        await asyncio.sleep(0.2)
        assert work.cancelled() and shared._converting.locked()
        ends.set()
        await shared._converting.acquire()

    asyncio.run(cancel())
    assert not caplog.records


def test_a_body_is_rejected_while_another_body_fills_the_memory(run, gate, monkeypatch):
    monkeypatch.setattr(bodies, "_LARGEST_AT_ONCE", 1)
    running = run(max_body_bytes=2000)
    document = {"signature_name": "scaled", "instances": [1.0], "x": "a" * 1500}
    body = json.dumps(document).encode()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(running.get, PATH, body)
        batcher = running.server._repository.serving()[0].batchers["scaled"]
        until(lambda: batcher._running)
        text = "The memory for bodies is full. Send the request later."
        assert running.get(PATH, body) == (503, f'{{"error":"{text}"}}')
        gate.set()
        assert first.result() == (200, '{"predictions":[2.0]}')
    assert running.get(PATH, body) == (200, '{"predictions":[2.0]}')


def test_large_bodies_are_parsed_one_at_a_time(run, monkeypatch):
    running, active, active_counts = run(), [], []
    original = json_format.read

    def read(*arguments):
        active.append(1)
        active_counts.append(len(active))
        time.sleep(0.05)
        active.pop()
        return original(*arguments)

    monkeypatch.setattr(json_format, "read", read)
    body = json.dumps({"signature_name": "scaled", "instances": [1.0], "x": "a" * SMALL}).encode()

    async def send():
        requests = (asyncio.to_thread(running.get, PATH, body) for _ in range(4))
        start = time.monotonic()
        responses = await asyncio.gather(*requests)
        return responses, time.monotonic() - start

    responses, seconds = asyncio.run(send())
    assert responses == [(200, '{"predictions":[2.0]}')] * 4
    assert active_counts == [1] * 4
    assert seconds > 6 * 0.05  # four bodies and three pauses of 0.05 s each
