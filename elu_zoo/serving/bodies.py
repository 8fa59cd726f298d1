"""Bodies of HTTP requests: limits of their size and of the memory they share."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import grpc
from aiohttp import web

from elu_zoo.serving import json_format
from elu_zoo.serving.servable import Servable
from elu_zoo.serving.settings import Settings
from elu_zoo.serving.status_errors import StatusError, invalid_argument

# All bodies together may take the memory of so many of the largest size.
_LARGEST_AT_ONCE = 4
# A number as JSON, with its separator.
_BYTES_PER_VALUE = 25
# Allowance for everything that is not a value. A thread parses larger bodies.
_SMALL_BYTES = 1 << 16
# How long the rest of a rejected body is read, and the pause after each part: a client
# that sends all of it before it reads still gets its answer.
_DISCARD_SECONDS = 5.0
_PAUSE_SECONDS = 0.02


class Bodies:
    """Reads and parses bodies within limits that all requests share."""

    def __init__(self, settings: Settings):
        self._max_body_bytes = settings.max_body_bytes
        self._max_batch_size = settings.max_batch_size
        self._free_bytes = _LARGEST_AT_ONCE * settings.max_body_bytes
        self._parsing = asyncio.Lock()

    def _limits(self, model: Servable) -> tuple[float, float]:
        """Returns the most bytes and values of a request to a model.

        The body names its signature, so the limits are those of the largest one.
        """
        signatures = model.signatures.values()
        values = max(
            (s.max_values(self._max_batch_size) for s in signatures), default=0
        )
        strings = any(t.is_string for s in signatures for t in s.inputs.values())
        size = self._max_body_bytes
        if not strings:
            size = min(size, values * _BYTES_PER_VALUE + _SMALL_BYTES)
        return size, values + _SMALL_BYTES

    @contextlib.asynccontextmanager
    async def read(self, request: web.Request, model: Servable) -> AsyncIterator[bytes]:
        """Yields a body; its memory counts as used until the block ends.

        Raises:
            StatusError: the body is too large for `model`, or cannot be read.
        """
        max_bytes, max_values = self._limits(model)
        too_large = f"The body is larger than {max_bytes:.0f} bytes"
        if (request.content_length or 0) > max_bytes:
            raise _too_large(too_large)
        # Counted while it arrives: a chunked body has no length, a gzipped one grows.
        body, commas = bytearray(), 0
        try:
            async for part in request.content.iter_any():
                if len(body) + len(part) > max_bytes:
                    raise _too_large(too_large)
                # A comma stands for a value, which the parser makes an object of.
                commas += part.count(b",")
                if commas > max_values:
                    raise _too_large(
                        "The body has more values than a batch of "
                        f"{self._max_batch_size} examples"
                    )
                if len(part) > self._free_bytes:
                    raise StatusError(
                        grpc.StatusCode.UNAVAILABLE,
                        "Too many large requests at a time",
                    )
                self._free_bytes -= len(part)
                body += part
            yield bytes(body)
        except web.RequestPayloadError as error:
            raise invalid_argument(f"The body cannot be read: {error}") from None
        finally:
            self._free_bytes += len(body)

    async def parse(self, body: bytes, model: Servable) -> json_format.Request:
        """Returns the request of a body; raises StatusError as `json_format.read`."""
        arguments = body, model.signature, self._max_batch_size
        if len(body) <= _SMALL_BYTES:
            return json_format.read(*arguments)
        # A large body holds Python's lock for long: one at a time, half of the time.
        loop = asyncio.get_running_loop()
        await self._parsing.acquire()
        start = loop.time()
        try:
            return await asyncio.to_thread(json_format.read, *arguments)
        finally:
            loop.call_later(loop.time() - start, self._parsing.release)


async def discard(request: web.Request, response: web.StreamResponse) -> None:
    """Sends a response before the body has arrived; reads some of the rest."""
    await response.prepare(request)
    await response.write_eof()
    with contextlib.suppress(TimeoutError, web.RequestPayloadError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            async for _ in request.content.iter_any():
                await asyncio.sleep(_PAUSE_SECONDS)


def _too_large(message: str) -> StatusError:
    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    return StatusError(code, message, http_status=413)
