"""Clients of a benchmark: how many requests they send, and when they refuse."""

import asyncio
import threading
import time

import numpy as np
import pytest

pytest.importorskip("tensorflow_serving")

from elu_zoo import errors
from elu_zoo.benchmark import load


@pytest.mark.parametrize(("clients", "requests"), [(1, 3), (4, 12), (3, 10)])
def test_in_threads(clients, requests):
    names = []
    seconds = load.in_threads(
        lambda: names.append(threading.current_thread().name), clients, requests
    )
    sent = requests // clients * clients
    assert seconds.shape == (sent,) and len(names) == sent
    assert (seconds >= 0).all()


@pytest.mark.parametrize("status", ["200 OK", "503 Service Unavailable"])
def test_by_rest(status):
    """Against a server of one text."""
    bodies = []

    async def answer(reader, writer):
        while not reader.at_eof():
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            bodies.append(await reader.readexactly(length))
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        writer.close()

    ports, stop = [], threading.Event()

    async def serve():
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            ports.append(server.sockets[0].getsockname()[1])
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    while not ports and thread.is_alive():
        time.sleep(0.01)
    arguments = f"127.0.0.1:{ports[0]}", "net", np.full((1, 1, 1, 1), 7.9), 2, 6
    try:
        if status.startswith("200"):
            assert load.by_rest(*arguments).shape == (6,)
            assert bodies == [b'{"instances": [[[[7]]]]}'] * 6
        else:
            with pytest.raises(errors.EluZooError, match="503 Service Unavailable"):
                load.by_rest(*arguments)
    finally:
        stop.set()
        thread.join()
