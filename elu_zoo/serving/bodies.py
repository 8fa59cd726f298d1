"""Bodies of HTTP requests: how large one may be, and how many are read at a time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import grpc
from aiohttp import web

from elu_zoo.serving import json_format, refusals
from elu_zoo.serving.refusals import Refusal
from elu_zoo.serving.servable import Servable

# How many bodies of the largest size may be read, or wait for an answer, at a time.
_AT_A_TIME = 4
# Of a number as JSON, with what parts it from the next.
_VALUE_BYTES = 25
# What a body may hold beyond its values. Another thread parses what is larger.
_SMALL_BYTES = 1 << 16
# How long the rest of a refused body is read, and the pause after each part: a client
# that sends it all before it listens gets its answer, and the others are not held up.
_DISCARD_SECONDS = 5.0
_PAUSE_SECONDS = 0.02


class Bodies:
    """Limits shared by all bodies: of memory, and one thread that parses large ones."""

    def __init__(self, max_body_bytes: int, max_batch_size: int):
        """Args:
        max_body_bytes: of one body.
        max_batch_size: examples of a request.
        """
        self._max_body_bytes = max_body_bytes
        self._max_batch_size = max_batch_size
        self._free_bytes = _AT_A_TIME * max_body_bytes
        self._parsing = asyncio.Lock()

    def _most(self, found: Servable) -> tuple[float, float]:
        """Returns the most bytes and values that a request to a model may hold.

        Which signature it is for stands inside of it, so the largest counts.
        """
        signatures = found.signatures.values()
        values = max(
            (s.most_values(self._max_batch_size) for s in signatures), default=0
        )
        strings = any(t.is_of_strings for s in signatures for t in s.inputs.values())
        size = self._max_body_bytes
        if not strings:
            size = min(size, values * _VALUE_BYTES + _SMALL_BYTES)
        return size, values + _SMALL_BYTES

    @contextlib.asynccontextmanager
    async def read(self, request: web.Request, found: Servable) -> AsyncIterator[bytes]:
        """Yields a body, within what all bodies together may take until then.

        Raises:
            Refusal: it is larger than a request to `found` can be, or cannot be read.
        """
        most_bytes, most_values = self._most(found)
        if (request.content_length or 0) > most_bytes:
            raise _too_large(f"The body is larger than {most_bytes:.0f} bytes")
        # Counted as it comes: its length may be unsaid, or of what unpacks to more.
        body, commas = bytearray(), 0
        try:
            async for part in request.content.iter_any():
                if len(body) + len(part) > most_bytes:
                    raise _too_large(f"The body is larger than {most_bytes:.0f} bytes")
                # Each value but the last has one. A parser makes an object of each.
                commas += part.count(b",")
                if commas > most_values:
                    raise _too_large(
                        "The body has more values than a batch of "
                        f"{self._max_batch_size} examples"
                    )
                if len(part) > self._free_bytes:
                    raise Refusal(
                        grpc.StatusCode.UNAVAILABLE,
                        "Too many large requests at a time",
                    )
                self._free_bytes -= len(part)
                body += part
            yield bytes(body)
        except web.RequestPayloadError as error:
            raise refusals.invalid(f"The body cannot be read: {error}") from None
        finally:
            self._free_bytes += len(body)

    async def parse(self, body: bytes, found: Servable) -> json_format.Request:
        """Returns the request that a body holds.

        Raises:
            Refusal: as `json_format.read`.
        """
        arguments = body, found.signature, self._max_batch_size
        if len(body) <= _SMALL_BYTES:
            return json_format.read(*arguments)
        # Large ones hold Python's lock for long: one at a time, for half of the time.
        loop = asyncio.get_running_loop()
        await self._parsing.acquire()
        start = loop.time()
        try:
            return await asyncio.to_thread(json_format.read, *arguments)
        finally:
            loop.call_later(loop.time() - start, self._parsing.release)


async def discard(request: web.Request, response: web.StreamResponse) -> None:
    """Answers a request whose body has not all come, and reads some of the rest."""
    await response.prepare(request)
    await response.write_eof()
    with contextlib.suppress(TimeoutError, web.RequestPayloadError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            async for _ in request.content.iter_any():
                await asyncio.sleep(_PAUSE_SECONDS)


def _too_large(message: str) -> Refusal:
    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    return Refusal(code, message, http_status=413)
