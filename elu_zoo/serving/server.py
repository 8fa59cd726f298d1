"""The server as a whole: starts, looks for new versions, stops without a loss."""

import asyncio
import concurrent.futures
import dataclasses
import gc
import logging
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import grpc
from aiohttp import web
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from elu_zoo import errors
from elu_zoo.serving.batching import Batcher, Limits
from elu_zoo.serving.bodies import Bodies
from elu_zoo.serving.connections import WAIT_SECONDS, Connections, most_per_port
from elu_zoo.serving.grpc_surface import GrpcSurface
from elu_zoo.serving.hosts import loopback_names
from elu_zoo.serving.metrics import Metrics
from elu_zoo.serving.repeated_messages import RepeatedMessages
from elu_zoo.serving.repository import Repository
from elu_zoo.serving.rest_surface import RestSurface
from elu_zoo.serving.signature import Signature

# Calls over gRPC that are answered at a time, and with those that wait; more are
# refused.
_CALLERS = 64
_MOST_CALLS = 256
# Until a gRPC client has said that it is one.
_HANDSHAKE_MS = 5_000
# HTTP connections that are accepted at a time, and that wait to be.
_ACCEPTED, _BACKLOG = 8, 128
# How long a connection without a request stays open once the server stops: a client
# that is just sending its next one gets an answer.
_IDLE_SECONDS = 1.0
# What is left of a request when its time to end is over.
_CUT_SECONDS = 0.1


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a server runs.

    Attributes:
        model_base_path: see `Repository`.
        host: the address that it listens on.
        port: of gRPC; 0 takes a free one.
        rest_api_port: of HTTP; 0 takes a free one.
        enable_batching: run requests that wait together.
        max_batch_size: examples of a batch, and so of a request.
        max_enqueued_batches: that may wait for a signature.
        max_body_bytes: of a request, on either surface.
        rest_api_timeout_in_ms: for an HTTP request; a gRPC client sends its deadline.
        file_system_poll_wait_seconds: between two looks at the folder.
        drain_seconds: how long a stop waits for the requests it has taken.
    """

    model_base_path: str | os.PathLike
    host: str = "127.0.0.1"
    port: int = 8500
    rest_api_port: int = 8501
    enable_batching: bool = True
    max_batch_size: int = 64
    max_enqueued_batches: int = 16
    max_body_bytes: int = 32 << 20
    rest_api_timeout_in_ms: int = 30_000
    file_system_poll_wait_seconds: float = 1.0
    drain_seconds: float = 30.0


class Server:
    """A server in the running event loop.

    Attributes:
        grpc_address: <host>:<port>, once it has started.
        rest_address: the same of HTTP.
    """

    def __init__(self, settings: Settings):
        """Args:
        settings: see there.

        Raises:
            NotFoundError: there is no folder `model_base_path`.
            UsageError: it holds no model.
        """
        self._settings = settings
        self._metrics = Metrics()
        threads = os.cpu_count() or 1
        self._limits = Limits(
            batched=settings.enable_batching,
            max_batch_size=settings.max_batch_size,
            max_enqueued_batches=settings.max_enqueued_batches,
            threads=threads,
        )
        self._threads = concurrent.futures.ThreadPoolExecutor(threads, "inference")
        self._callers = concurrent.futures.ThreadPoolExecutor(_CALLERS, "grpc")
        self._poller = concurrent.futures.ThreadPoolExecutor(1, "versions")
        self._repository = Repository(Path(settings.model_base_path), self._batcher)
        most_connections = most_per_port()
        self._connections = Connections(most_connections)
        self._rest = RestSurface(
            self._repository,
            self._metrics,
            self._connections,
            Bodies(settings.max_body_bytes, settings.max_batch_size),
            loopback_names(settings.host),
            timeout_seconds=settings.rest_api_timeout_in_ms / 1000,
        )
        self._runner = web.AppRunner(
            self._rest.application(),
            handler_cancellation=True,
            shutdown_timeout=_CUT_SECONDS,
        )
        self._surface = GrpcSurface(self._repository, self._metrics)
        self._health = health.HealthServicer()
        # Not grpc.aio, which takes three times as long for a call.
        self._grpc = grpc.server(
            self._callers,
            maximum_concurrent_rpcs=_MOST_CALLS,
            options=[
                ("grpc.max_receive_message_length", settings.max_body_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
                ("grpc.max_allowed_incoming_connections", most_connections),
                ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
                ("grpc.max_connection_idle_ms", int(WAIT_SECONDS * 1000)),
                ("grpc.keepalive_time_ms", int(WAIT_SECONDS * 1000)),
            ],
        )
        self._grpc.add_generic_rpc_handlers([self._surface])
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)

    def _batcher(self, model: str, signature: Signature) -> Batcher:
        def count(size):
            self._metrics.batch(model, signature.name, size)

        return Batcher(signature, self._limits, self._threads, count)

    async def start(self) -> None:
        """Loads the models, then listens.

        Raises:
            ResourceError: a port is taken, or an address is not this machine's.
            CorruptError: not one of the models can be served.
        """
        with self._bound() as listening:
            await self._poll()
            self._check_models()
            await self._runner.setup()
            loop = asyncio.get_running_loop()
            # Its own copy, so that this one is closed whatever happens. Accepted a few
            # at a time, as each takes a file descriptor before it is counted; those
            # that come together wait in a longer queue.
            self._listening = await loop.create_server(
                lambda: self._connections.protocol(self._runner.server),
                sock=listening.dup(),
                backlog=_ACCEPTED,
            )
            listening.listen(_BACKLOG)
        self._grpc.start()
        self._polling = asyncio.create_task(self._poll_on())

    def _check_models(self) -> None:
        if self._repository.serving():
            return
        reasons = [
            state.message
            for model in self._repository.models.values()
            for state in model.states.values()
            if state.message
        ]
        raise errors.CorruptError(" ".join(reasons))

    def _bound(self) -> socket.socket:
        """Takes both addresses, before the models are loaded; returns that of HTTP."""
        host, ports = (
            self._settings.host,
            (self._settings.rest_api_port, self._settings.port),
        )
        bracketed = f"[{host}]" if ":" in host else host
        try:
            family, *_, address = socket.getaddrinfo(
                host, ports[0], type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listening = socket.socket(family, socket.SOCK_STREAM)
            try:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.bind(address)
                port = self._grpc.add_insecure_port(f"{bracketed}:{ports[1]}")
            except BaseException:
                listening.close()
                raise
        except (OSError, RuntimeError) as error:
            raise errors.ResourceError(
                f"{bracketed} with the ports {ports[0]} (REST) and {ports[1]} (gRPC) "
                f"cannot be listened on: {error}. Choose other ones with "
                "--rest_api_port and --port."
            ) from error
        self.rest_address = f"{bracketed}:{listening.getsockname()[1]}"
        self.grpc_address = f"{bracketed}:{port}"
        return listening

    async def stop(self) -> None:
        """Answers what has come, takes nothing new, and ends."""
        self._rest.draining = self._surface.draining = True
        self._polling.cancel()
        self._set_health(False)
        loop = asyncio.get_running_loop()
        end = loop.time() + self._settings.drain_seconds
        await asyncio.gather(self._stop_http(end), asyncio.sleep(_IDLE_SECONDS))
        # Calls that had come are at work once this, which waits behind them, is.
        behind = loop.run_in_executor(self._callers, int)
        await asyncio.wait([behind], timeout=max(0, end - loop.time()))
        while self._surface.running and loop.time() < end:
            await asyncio.sleep(0.01)
        # What is left are those that are out of time, and watchers of the health.
        await asyncio.to_thread(self._grpc.stop(_CUT_SECONDS).wait)
        for pool in (self._threads, self._callers, self._poller):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _stop_http(self, end: float) -> None:
        self._listening.close()
        loop = asyncio.get_running_loop()
        start = loop.time()
        while loop.time() < end:
            idle_is_over = loop.time() > start + _IDLE_SECONDS
            if not self._runner.server.connections:
                break
            if idle_is_over and not self._rest.running:
                break
            await asyncio.sleep(0.01)
        await self._runner.cleanup()

    def _set_health(self, is_ready: bool) -> None:
        states = health_pb2.HealthCheckResponse
        status = states.SERVING if is_ready else states.NOT_SERVING
        for service in ("", "tensorflow.serving.PredictionService"):
            self._health.set(service, status)

    async def _poll(self) -> None:
        before = self._versions()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._poller, self._repository.poll)
        if self._versions() != before:
            self._set_health(bool(self._versions()))
            # A full collection among TensorFlow's objects stops every request for a
            # third of a second: once a version, and not whenever Python likes.
            gc.unfreeze()
            gc.collect()
            gc.freeze()

    def _versions(self) -> list[tuple[str, int]]:
        return [(found.name, found.version) for found in self._repository.serving()]

    async def _poll_on(self) -> None:
        fault = ""
        while True:
            await asyncio.sleep(self._settings.file_system_poll_wait_seconds)
            try:
                await self._poll()
                fault = ""
            # The folder may be on a network; what it answers is tried again.
            except OSError as error:
                if str(error) != fault:
                    logging.getLogger(__name__).warning("%s", error)
                fault = str(error)
            except Exception:
                logging.getLogger(__name__).exception("A look at the models failed.")


async def serve(settings: Settings, started: Callable[[Server], None]) -> None:
    """Serves until SIGTERM or SIGINT; a second one ends the process at once.

    Args:
        settings: see there.
        started: called with the server once it answers.

    Raises:
        As `Server` and `Server.start`.
    """
    for handler in logging.getLogger().handlers:
        handler.addFilter(RepeatedMessages())
    server = Server(settings)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _ask_to_stop, stop, number)
    await server.start()
    if not stop.is_set():
        started(server)
    await stop.wait()
    await server.stop()


def _ask_to_stop(stop: asyncio.Event, number: int) -> None:
    if stop.is_set():
        os._exit(128 + number)
    stop.set()
