"""HTTP connections, limited by the file descriptors of the process."""

import asyncio
import os
import re
import resource
from typing import Any

from aiohttp import web

import elu_zoo
from elu_zoo.serving.status_errors import shorten

# Headers of every response.
HEADERS = {"Server": f"elu-zoo-serve/{elu_zoo.__version__}", "X-Content-Type-Options": "nosniff"}
# Timeout of an idle connection, and of the arrival of a request's headers.
IDLE_SECONDS = 30.0
# File descriptors reserved for loading models and for connections that are closing.
_RESERVED = 48


def max_per_port() -> int:
    """Returns the maximum number of connections of each port, REST and gRPC."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        soft = 1 << 16
    return max(8, (soft - len(os.listdir("/dev/fd")) - _RESERVED) // 2)


class Connections:
    """The open connections of an HTTP server.

    At the limit, a new connection replaces the connection that has waited longest for its
    client, for a request or for the rest of a body. If none waits, the new one is closed.
    """

    def __init__(self, max_connections: int):
        self._max_connections = max_connections
        # Each connection's unanswered request or None; the oldest change comes first.
        self._requests: dict[web.RequestHandler, web.BaseRequest | None] = {}

    def protocol(self, server: web.Server) -> asyncio.Protocol:
        return _Connection(self, server)

    def change(self, connection: web.RequestHandler, request: web.BaseRequest | None) -> None:
        """Records a request whose headers have arrived; None if it is answered."""
        if connection in self._requests:
            del self._requests[connection]
            self._requests[connection] = request

    def add(self, connection: web.RequestHandler) -> bool:
        """Adds a connection; returns False if no open connection can be replaced."""
        if len(self._requests) >= self._max_connections:
            waiting = (
                connection
                for connection, request in self._requests.items()
                if request is None or not request.content.is_eof()
            )
            if (oldest := next(waiting, None)) is None:
                return False
            self.remove(oldest)
            if oldest.transport:  # `force_close` would wait for a client that does not read
                oldest.transport.abort()
        self._requests[connection] = None
        return True

    def remove(self, connection: web.RequestHandler) -> None:
        self._requests.pop(connection, None)


class _Connection(web.RequestHandler):
    """An aiohttp connection that closes after `IDLE_SECONDS` without a request."""

    __slots__ = ("_connections", "_wire")

    def __init__(self, connections: Connections, server: web.Server):
        super().__init__(
            server, loop=asyncio.get_running_loop(), keepalive_timeout=IDLE_SECONDS, access_log=None
        )
        self._connections = connections

    def is_sending(self) -> bool:
        """Returns whether the client has not received all of the responses."""
        return self._wire.get_write_buffer_size() > 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._wire = transport  # aiohttp forgets it while the rest of a response is sent
        if self._connections.add(self):
            super().connection_made(transport)
        else:
            transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answers malformed HTTP as JSON, without a line in the log."""
        if request.writer.output_size > 0:
            raise ConnectionError("The response is sent already")
        # aiohttp's text goes on with a remedy for the server's host, or with the client's bytes.
        reason, *_ = re.split(r"[.\n]", message or "the request was not answered")
        content = {"error": f"Malformed HTTP: {shorten(reason)}"}
        response = web.json_response(content, status=status, headers=HEADERS)
        response.force_close()
        return response

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        """Logs nothing: only the unread rest of a refused body raises outside a handler."""

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.remove(self)
        super().connection_lost(exc)
