"""Clients of a server on this machine, and what they wait."""

import asyncio
import concurrent.futures
import json
import time
from collections.abc import Callable

import grpc
import numpy as np
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from elu_zoo import errors

Latencies = np.ndarray


def in_threads(call: Callable[[], object], clients: int, requests: int) -> Latencies:
    """Returns the seconds of each call, made by threads of this process.

    Args:
        call: predicts.
        clients: threads.
        requests: of all of them together.
    """

    def client(_) -> list[float]:
        found = []
        for _ in range(requests // clients):
            start = time.perf_counter()
            call()
            found.append(time.perf_counter() - start)
        return found

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return np.concatenate(list(pool.map(client, range(clients))))


def by_grpc(
    address: str, model: str, images: np.ndarray, clients: int, requests: int
) -> Latencies:
    """Returns the seconds of each Predict of the stock client, by one channel.

    Args:
        address: <host>:<port>.
        model: the model's name.
        images: of a request, float32 (batch, height, width, channels).
        clients: requests that are under way at a time.
        requests: of all clients together.
    """
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    tensor = request.inputs["images"]
    tensor.dtype = 1  # DT_FLOAT
    for size in images.shape:
        tensor.tensor_shape.dim.add().size = size
    tensor.tensor_content = images.astype("<f4").tobytes()

    async def run():
        async with grpc.aio.insecure_channel(address) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            await stub.Predict(request)
            return await _gathered(lambda: stub.Predict(request), clients, requests)

    return asyncio.run(run())


def by_rest(
    address: str, model: str, images: np.ndarray, clients: int, requests: int
) -> Latencies:
    """Returns the seconds of each request, a connection a client.

    Args:
        address: <host>:<port>.
        model: the model's name.
        images: as of `by_grpc`; they are sent as whole numbers.
        clients: connections.
        requests: of all clients together.
    """
    body = json.dumps({"instances": np.floor(images).astype(int).tolist()}).encode()
    host, port = address.rsplit(":", 1)
    message = (
        f"POST /v1/models/{model}:predict HTTP/1.1\r\nHost: {address}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body

    async def run():
        free = [await asyncio.open_connection(host, int(port)) for _ in range(clients)]
        writers = [writer for _, writer in free]

        async def call():
            reader, writer = free.pop()
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise errors.EluZooError(f"The server answers {head!r}.")
            (length,) = (
                int(line.partition(b":")[2])
                for line in head.lower().splitlines()
                if line.startswith(b"content-length")
            )
            await reader.readexactly(length)
            free.append((reader, writer))

        try:
            return await _gathered(call, clients, requests)
        finally:
            for writer in writers:
                writer.close()
                await writer.wait_closed()

    return asyncio.run(run())


async def _gathered(call: Callable, clients: int, requests: int) -> Latencies:
    found: list[float] = []

    async def client():
        for _ in range(requests // clients):
            start = time.perf_counter()
            await call()
            found.append(time.perf_counter() - start)

    await asyncio.gather(*(client() for _ in range(clients)))
    return np.array(found)
