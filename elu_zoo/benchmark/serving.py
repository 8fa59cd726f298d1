"""Benchmark of our server over gRPC and REST, and of predictions in this process."""

import asyncio
import contextlib
import functools
import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from elu_zoo import quiet
from elu_zoo.benchmark import report
from elu_zoo.benchmark.report import Row

CLIENTS = 1, 8, 32
BASELINE = "in process"
UNBATCHED = "gRPC, unbatched"
# Requests by number of clients, about a second of work for each form in a round.
_REQUESTS_PER_CLIENT = {1: 96, 8: 32, 32: 16}
_SEED = 1511_07289

# (clients, requests) -> latencies in seconds
_Load = Callable[[int, int], np.ndarray]


def measure(name: str, rounds: int, folder: Path) -> list[Row]:
    """Returns the latencies and the throughput of a network, by number of clients.

    In each round every form is measured once, in a random order.
    """
    # Not at the top, because the server's process imports this file before
    # `quiet.follow` hides the messages of TensorFlow.
    from elu_zoo.benchmark import inference

    _, images = inference.export(name, 1, folder)
    with contextlib.ExitStack() as stack:
        forms = _forms(name, images, folder, stack)
        rows = []
        for clients in CLIENTS:
            rows += _rows(name, forms, clients, rounds)
    return rows


def _forms(
    name: str, images: np.ndarray, folder: Path, stack: contextlib.ExitStack
) -> dict[str, _Load]:
    from elu_zoo.benchmark import load
    from elu_zoo.export.saved_model import load_saved_model

    loaded = load_saved_model(folder / name)
    forms = {BASELINE: functools.partial(load.time_threads, lambda: loaded.predict(images))}
    for suffix, batched in (("", True), (", unbatched", False)):
        rest, grpc = stack.enter_context(_server(folder, batched))
        forms[f"gRPC{suffix}"] = functools.partial(load.time_grpc, grpc, name, images)
        forms[f"REST{suffix}"] = functools.partial(load.time_rest, rest, name, images)
    return forms


def _statistics(clients: int, seconds: np.ndarray) -> dict[str, float]:
    """Returns statistics of the requests of a round, by the end of their case."""
    return {
        "": 1e3 * np.median(seconds),
        ", p95": 1e3 * np.percentile(seconds, 95),
        ", p99": 1e3 * np.percentile(seconds, 99),
        # A client never pauses, so that it sends 1 / latency requests a second.
        ", throughput": clients / np.mean(seconds),
    }


def _rows(name: str, forms: dict[str, _Load], clients: int, rounds: int) -> list[Row]:
    requests = clients * _REQUESTS_PER_CLIENT[clients]
    generator = np.random.Generator(np.random.Philox(_SEED))
    names = list(forms)
    for form in names:
        forms[form](clients, clients)
    found: dict[str, list] = {form: [] for form in names}
    for _ in range(rounds):
        for form in generator.permutation(names):
            found[form].append(_statistics(clients, forms[form](clients, requests)))
    rows = []
    for end in found[BASELINE][0]:
        values = {form: np.array([x[end] for x in found[form]]) for form in names}
        case = f"{name}, {clients} client{'s' * (clients > 1)}{end}"
        baseline, unit = (UNBATCHED, "1/s") if "throughput" in end else (BASELINE, "ms")
        rows += report.rows("serving", case, values, baseline, unit)
    return rows


@contextlib.contextmanager
def _server(folder: Path, batched: bool) -> Iterator[tuple[str, str]]:
    """Yields the REST and gRPC addresses of a server in a new process."""
    context = multiprocessing.get_context("spawn")
    parent_end, child_end = context.Pipe()
    process = context.Process(target=_serve, args=(folder, batched, child_end))
    process.start()
    child_end.close()
    try:
        yield parent_end.recv()  # raises an EOFError if the server does not start
    finally:
        process.terminate()
        process.join()


def _serve(folder: Path, batched: bool, connection) -> None:
    quiet.follow()
    from elu_zoo.serving import server

    settings = server.Settings(
        model_base_path=folder, port=0, rest_api_port=0, enable_batching=batched
    )

    def send_addresses(running):
        connection.send((running.rest_address, running.grpc_address))

    asyncio.run(server.serve(settings, send_addresses))
