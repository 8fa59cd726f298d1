"""Latencies of requests from concurrent clients to a server on this machine."""

import asyncio
import concurrent.futures
import json
import time
from collections.abc import Callable

import aiohttp
import grpc
import numpy as np
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

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
    """Returns the latencies of HTTP requests, see `time_grpc`; pixels are integers."""
    body = json.dumps({"instances": np.floor(images).astype(int).tolist()}).encode()
    url = f"http://{address}/v1/models/{model}:predict"

    async def run():
        async with aiohttp.ClientSession(raise_for_status=True) as session:

            async def call():
                async with session.post(url, data=body) as response:
                    await response.read()

            return await _measure(call, clients, requests)

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
