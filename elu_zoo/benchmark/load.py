"""Latencies of requests from concurrent clients to a server on this machine."""

import asyncio
import concurrent.futures
import json
import time
from collections.abc import Callable

import grpc
import numpy as np
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from elu_zoo import errors

Latencies = np.ndarray  # seconds, in any order


def time_threads(call: Callable[[], object], clients: int, requests: int) -> Latencies:
    """Returns the latencies of `requests` calls by `clients` threads."""

    def client(index: int) -> list[float]:
        seconds = []
        for _ in range(index, requests, clients):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        return seconds

    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return np.concatenate(list(pool.map(client, range(clients))))


def time_grpc(
    address: str, model: str, images: np.ndarray, clients: int, requests: int
) -> Latencies:
    """Returns the latencies of Predict calls over one channel.

    Args:
        address: <host>:<port>.
        model: name of the model.
        images: images in each request, float32 (batch, height, width, channels).
        clients: number of concurrent requests.
        requests: number of requests in total.
    """
    import tensorflow as tf

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.inputs["images"].CopyFrom(tf.make_tensor_proto(images, tf.float32))

    async def run():
        async with grpc.aio.insecure_channel(address) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            await stub.Predict(request)
            return await _measure(lambda: stub.Predict(request), clients, requests)

    return asyncio.run(run())


def time_rest(
    address: str, model: str, images: np.ndarray, clients: int, requests: int
) -> Latencies:
    """Returns the latencies of HTTP requests, with one connection per client.

    The arguments are those of `time_grpc`. Pixels are sent as integers.
    """
    body = json.dumps({"instances": np.floor(images).astype(int).tolist()}).encode()
    host, port = address.rsplit(":", 1)
    message = (
        f"POST /v1/models/{model}:predict HTTP/1.1\r\nHost: {address}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body

    async def run():
        idle = [await asyncio.open_connection(host, int(port)) for _ in range(clients)]
        writers = [writer for _, writer in idle]

        async def call():
            reader, writer = idle.pop()
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise errors.EluZooError(
                    f"The server must respond with status 200. Received: {head!r}."
                )
            (length,) = (
                int(line.partition(b":")[2])
                for line in head.lower().splitlines()
                if line.startswith(b"content-length")
            )
            await reader.readexactly(length)
            idle.append((reader, writer))

        try:
            return await _measure(call, clients, requests)
        finally:
            for writer in writers:
                writer.close()
                await writer.wait_closed()

    return asyncio.run(run())


async def _measure(call: Callable, clients: int, requests: int) -> Latencies:
    seconds: list[float] = []

    async def client(index: int):
        for _ in range(index, requests, clients):
            start = time.perf_counter()
            await call()
            seconds.append(time.perf_counter() - start)

    await asyncio.gather(*map(client, range(clients)))
    return np.array(seconds)
