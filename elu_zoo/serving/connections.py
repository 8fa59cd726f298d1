"""HTTP connections: at most as many as the process has file descriptors for."""

import asyncio
import os
import resource

from aiohttp import web

# How long an idle connection stays open; a request's headers must arrive within it.
IDLE_SECONDS = 30.0
# File descriptors for models that load and for connections that are closing.
_RESERVED = 48


def max_per_port() -> int:
    """Returns how many connections each of the two ports may hold."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        soft = 1 << 16
    return max(8, (soft - len(os.listdir("/dev/fd")) - _RESERVED) // 2)


class Connections:
    """The open connections of an HTTP server.

    When all places are taken, a new connection replaces the one that has waited
    longest for its client (for a request or for the rest of one). If every connection
    has a complete request, the new one is closed.
    """

    def __init__(self, max_connections: int):
        self._max_connections = max_connections
        # The unanswered request of each connection; the longest unchanged comes first.
        self._requests: dict[web.RequestHandler, web.BaseRequest | None] = {}

    def protocol(self, server: web.Server) -> asyncio.Protocol:
        return _Connection(self, server)

    def begin(self, request: web.BaseRequest) -> None:
        """Notes that a request's headers have arrived."""
        self._change(request.protocol, request)

    def end(self, request: web.BaseRequest) -> None:
        """Notes that a request is answered."""
        self._change(request.protocol, None)

    def _change(
        self, connection: web.RequestHandler, request: web.BaseRequest | None
    ) -> None:
        if connection in self._requests:
            del self._requests[connection]
            self._requests[connection] = request

    def add(self, connection: web.RequestHandler) -> bool:
        """Adds a connection; returns False if there is no place for it."""
        if len(self._requests) >= self._max_connections:
            waiting = (
                connection
                for connection, request in self._requests.items()
                if request is None or not request.content.is_eof()
            )
            if (other := next(waiting, None)) is None:
                return False
            self.remove(other)
            other.force_close()
        self._requests[connection] = None
        return True

    def remove(self, connection: web.RequestHandler) -> None:
        self._requests.pop(connection, None)


class _Connection(web.RequestHandler):
    """aiohttp's connection; it closes after `IDLE_SECONDS` without a request."""

    __slots__ = ("_connections",)

    def __init__(self, connections: Connections, server: web.Server):
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=0,  # `bodies.discard` reads the rest of a body
            access_log=None,
        )
        self._connections = connections

    def connection_made(self, transport: asyncio.Transport) -> None:
        if self._connections.add(self):
            super().connection_made(transport)
        else:
            transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.remove(self)
        super().connection_lost(exc)
