"""The server: start, polling for new versions, and a stop that loses no request."""

import asyncio
import concurrent.futures
import functools
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
from elu_zoo.serving import hosts
from elu_zoo.serving.batching import Batcher
from elu_zoo.serving.connections import IDLE_SECONDS, Connections, max_per_port
from elu_zoo.serving.grpc_api import GrpcApi
from elu_zoo.serving.metrics import Metrics
from elu_zoo.serving.repository import Repository
from elu_zoo.serving.rest_api import RestApi
from elu_zoo.serving.settings import Settings
from elu_zoo.serving.signature import Signature

# Largest numbers of gRPC calls that run at once, and that run or wait for a thread.
_GRPC_THREADS = 64
_MAX_GRPC_CALLS = 256
_GRPC_HANDSHAKE_MS = 5_000
# HTTP connections that one step of the event loop accepts, and that the system queues.
_ACCEPTED, _BACKLOG = 8, 128
# After a stop, idle connections stay open for this time, so that sent requests are answered.
_STOP_IDLE_SECONDS = 1.0
# Time that unfinished requests are given after `drain_seconds`.
_CUT_SECONDS = 0.1
# Health checks do not wait for predictions, which may use all other threads.
health.HealthServicer.Check.experimental_thread_pool = concurrent.futures.ThreadPoolExecutor(1)


class Server:
    """A gRPC and REST server that runs in the current event loop.

    Attributes:
        grpc_address: <host>:<port>; set by `start`.
        rest_address: <host>:<port>; set by `start`.
    """

    def __init__(self, settings: Settings):
        self._settings = settings
        self._metrics = Metrics()
        self._threads = concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1, "inference")
        self._grpc_threads = concurrent.futures.ThreadPoolExecutor(_GRPC_THREADS, "grpc")
        self._poll_thread = concurrent.futures.ThreadPoolExecutor(1, "versions")
        self._repository = Repository(Path(settings.model_base_path), self._batcher)
        max_connections = max_per_port()
        self._connections = Connections(max_connections)
        self._rest_api = RestApi(settings, self._repository, self._metrics, self._connections)
        self._runner = web.AppRunner(
            self._rest_api.application(), handler_cancellation=True, shutdown_timeout=_CUT_SECONDS
        )
        self._grpc_api = GrpcApi(self._repository, self._metrics)
        self._health = health.HealthServicer()
        self._status = None
        self._has_changed = False
        # The threaded server, because a call of grpc.aio takes three times as long.
        self._grpc = grpc.server(
            self._grpc_threads,
            maximum_concurrent_rpcs=_MAX_GRPC_CALLS,
            options=[
                ("grpc.max_receive_message_length", settings.max_body_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
                ("grpc.max_allowed_incoming_connections", max_connections),
                ("grpc.server_handshake_timeout_ms", _GRPC_HANDSHAKE_MS),
                ("grpc.max_connection_idle_ms", int(IDLE_SECONDS * 1000)),
                ("grpc.keepalive_time_ms", int(IDLE_SECONDS * 1000)),
            ],
        )
        self._grpc.add_generic_rpc_handlers([self._grpc_api])
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)

    def _batcher(self, model: str, signature: Signature) -> Batcher:
        on_batch = functools.partial(self._metrics.batch, model, signature.name)
        return Batcher(signature, self._settings, self._threads, on_batch)

    async def start(self) -> None:
        """Loads the models, then accepts requests."""
        with self._bind() as listening:
            await self._poll()
            if not self._repository.serving():
                models = self._repository.models.values()
                rows = [row.status for model in models for row in model.states.values()]
                raise errors.CorruptError(" ".join(r.error_message for r in rows if r.error_code))
            await self._runner.setup()
            # The socket is duplicated: the event loop and `with` close one socket each.
            # asyncio accepts `backlog` connections in one step. Each needs a file
            # descriptor before `Connections` counts it, so `backlog` must be small.
            self._listening = await asyncio.get_running_loop().create_server(
                lambda: self._connections.protocol(self._runner.server),
                sock=listening.dup(),
                backlog=_ACCEPTED,
            )
            listening.listen(_BACKLOG)
        self._set_health(True)
        self._grpc.start()
        self._polling = asyncio.create_task(self._keep_polling())

    def _bind(self) -> socket.socket:
        """Binds the ports of REST and gRPC; returns the socket of REST, which listens.

        Clients that connect before the models are loaded wait.
        """
        host, port = self._settings.host, self._settings.port
        rest_port = self._settings.rest_api_port
        bracketed = f"[{host}]" if ":" in host else host
        try:
            grpc_port = self._grpc.add_insecure_port(f"{bracketed}:{port}")
            family, *_, address = socket.getaddrinfo(
                host, rest_port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            kind = {"family": family, "backlog": _BACKLOG, "dualstack_ipv6": host == "::"}
            listening = socket.create_server(address, **kind)
        except (OSError, RuntimeError, ValueError) as error:
            raise errors.ResourceError(
                f"Cannot listen on {bracketed}, ports {rest_port} (REST) and {port} (gRPC): "
                f"{str(error).partition(';')[0]}. Set another --host, --rest_api_port or --port."
            ) from error
        self.rest_address = f"{bracketed}:{listening.getsockname()[1]}"
        self.grpc_address = f"{bracketed}:{grpc_port}"
        return listening

    async def stop(self) -> None:
        """Rejects new requests, finishes requests that have arrived, and stops."""
        self._rest_api.draining = self._grpc_api.draining = True
        self._polling.cancel()
        self._set_health(False)
        loop = asyncio.get_running_loop()
        end = loop.time() + self._settings.drain_seconds
        await asyncio.gather(self._stop_http(end), asyncio.sleep(_STOP_IDLE_SECONDS))
        # This empty task starts after all calls that have already arrived.
        last = loop.run_in_executor(self._grpc_threads, int)
        await asyncio.wait([last], timeout=max(0, end - loop.time()))
        while self._grpc_api.running and loop.time() < end:
            await asyncio.sleep(0.01)
        # Ends the calls that are still unfinished, and the streams of health checks.
        await asyncio.to_thread(self._grpc.stop(_CUT_SECONDS).wait)
        for pool in (self._threads, self._grpc_threads, self._poll_thread):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _stop_http(self, end: float) -> None:
        # Accepts the connections that the system has queued. `close` would reset them.
        for _ in range(_BACKLOG // _ACCEPTED + 1):
            await asyncio.sleep(0)
        self._listening.close()
        loop = asyncio.get_running_loop()
        idle_end = loop.time() + _STOP_IDLE_SECONDS
        while self._runner.server.connections and loop.time() < end:
            is_sending = any(c.is_sending() for c in self._runner.server.connections)
            if loop.time() > idle_end and not (self._rest_api.running or is_sending):
                break
            await asyncio.sleep(0.01)
        await self._runner.cleanup()

    def _set_health(self, is_ready: bool) -> None:
        states = health_pb2.HealthCheckResponse
        status = states.SERVING if is_ready else states.NOT_SERVING
        if status != self._status:
            for service in ("", "tensorflow.serving.PredictionService"):
                self._health.set(service, status)
        self._status = status

    async def _poll(self) -> None:
        before = self._repository.serving()
        self._last_poll = self._poll_thread.submit(self._repository.poll)
        await asyncio.wrap_future(self._last_poll)
        changed = self._repository.serving() != before
        if changed or self._has_changed:
            del before  # or `freeze` would keep the replaced models
            # Collecting TensorFlow's many objects takes a third of a second, in which
            # no request runs. `freeze` excludes these objects from later collections.
            # The next poll frees models that requests held during this one.
            gc.unfreeze()
            gc.collect()
            gc.freeze()
        self._has_changed = changed

    def is_busy(self) -> bool:
        """Returns whether a thread reads the folder, loads a version or computes a batch."""
        return not self._last_poll.done() or self._metrics.longest_batch() > 0

    async def _keep_polling(self) -> None:
        last_error = ""
        while True:
            await asyncio.sleep(self._settings.file_system_poll_wait_seconds)
            # First, because a poll may fail.
            self._set_health(bool(self._repository.serving()) and not self._rest_api.is_stuck())
            try:
                await self._poll()
                last_error = ""
            # A network file system may fail for a time. The next poll may succeed.
            except OSError as error:
                if str(error) != last_error:
                    logging.getLogger(__name__).warning("%s", error)
                last_error = str(error)
            except Exception:
                logging.getLogger(__name__).exception("Polling for versions failed.")


async def serve(settings: Settings, started: Callable[[Server], None]) -> None:
    """Runs a server until SIGTERM or SIGINT. A signal before the start, or a second, kills it.

    Args:
        started: called with the server when it accepts requests.
    """
    if hosts.allowed_hosts(settings.host) is None:
        logging.getLogger(__name__).warning(
            "With --host=%s, every machine that reaches this address can use the server. There "
            "is no access control and no encryption.",
            settings.host,
        )
    server = Server(settings)
    stop = asyncio.Event()
    stop.set()

    def on_signal(number):
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
    await server.start()
    stop.clear()
    started(server)
    await stop.wait()
    await server.stop()
    if server.is_busy():  # Python would wait for a thread that may never end
        os._exit(0)
