"""HTTP connections, fewer than the process has file descriptors for."""

import asyncio
import os
import resource

from aiohttp import web

# How long a connection may wait for its client's next request, the head of it included.
WAIT_SECONDS = 30.0
# File descriptors for models that load, and for connections that are about to close.
_RESERVED = 48


def most_per_port() -> int:
    """Returns how many connections each of the two ports may hold."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        soft = 1 << 16
    return max(8, (soft - len(os.listdir("/dev/fd")) - _RESERVED) // 2)


class Connections:
    """The open connections of an HTTP server, at most as many as it may hold.

    A new one beyond them takes the place of the one that has waited longest for its
    client, be it for a request or for the rest of one. If none waits, it is refused.
    """

    def __init__(self, most: int):
        self._most = most
        # With the request that is answered, if any; the longest unchanged comes first.
        self._requests: dict[web.RequestHandler, web.BaseRequest | None] = {}

    def protocol(self, server: web.Server) -> asyncio.Protocol:
        """Returns the protocol of a connection that was accepted."""
        return _Connection(self, server)

    def begin(self, request: web.BaseRequest) -> None:
        """Notes that a request's head has come."""
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
        """Takes a connection in; returns False if every other one is at work."""
        if len(self._requests) >= self._most:
            others = self._requests.items()
            waiting = (o for o, r in others if r is None or not r.content.is_eof())
            if (other := next(waiting, None)) is None:
                return False
            self.remove(other)
            other.force_close()
        self._requests[connection] = None
        return True

    def remove(self, connection: web.RequestHandler) -> None:
        """Forgets a connection that is closed."""
        self._requests.pop(connection, None)


class _Connection(web.RequestHandler):
    """aiohttp's connection, which closes after `WAIT_SECONDS` without a request."""

    __slots__ = ("_all",)

    def __init__(self, connections: Connections, server: web.Server):
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=WAIT_SECONDS,
            lingering_time=0,  # `bodies.discard` does it
            access_log=None,
        )
        self._all = connections

    def connection_made(self, transport: asyncio.Transport) -> None:
        if self._all.add(self):
            super().connection_made(transport)
        else:
            transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._all.remove(self)
        super().connection_lost(exc)
