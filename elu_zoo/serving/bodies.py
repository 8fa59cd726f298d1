"""HTTP bodies: reading, parsing and writing within limits of size and memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
from aiohttp import web

from elu_zoo.serving import json_format
from elu_zoo.serving.servable import Servable
from elu_zoo.serving.settings import Settings
from elu_zoo.serving.signature import Arrays
from elu_zoo.serving.status_errors import StatusError, invalid_argument, unavailable

# All bodies together may use the memory of this many bodies of the largest size.
_LARGEST_AT_ONCE = 4
# Longest text of a number in JSON, including the separator.
_BYTES_PER_VALUE = 25
# Allowance for keys and spaces, in bytes. Larger bodies are parsed in a thread.
_SMALL_BYTES = 1 << 16


class Bodies:
    """Reads and parses request bodies within memory that all requests share."""

    def __init__(self, settings: Settings):
        self._max_body_bytes = settings.max_body_bytes
        self._max_batch_size = settings.max_batch_size
        self._free_bytes = _LARGEST_AT_ONCE * settings.max_body_bytes
        self._converting = asyncio.Lock()

    def _limits(self, model: Servable) -> tuple[float, float]:
        """Returns the largest numbers of bytes and of values that a signature takes."""
        signatures = model.signatures.values()
        values = max((s.max_values(self._max_batch_size) for s in signatures), default=0)
        strings = any(t.is_string for s in signatures for t in s.inputs.values())
        size = self._max_body_bytes
        if not strings:
            size = min(size, values * _BYTES_PER_VALUE + _SMALL_BYTES)
        return size, values + _SMALL_BYTES

    @contextlib.asynccontextmanager
    async def read(self, request: web.Request, model: Servable) -> AsyncIterator[bytearray]:
        """Yields a request body, whose memory stays reserved until the block ends."""
        max_bytes, max_values = self._limits(model)
        too_large = f"The request body is larger than {max_bytes:.0f} bytes"
        if (request.content_length or 0) > max_bytes:
            raise _too_large(too_large)
        # Content-Length is not enough: chunked bodies lack it, and gzip bodies expand.
        body, commas, opened = bytearray(), 0, 0
        try:
            async for part in request.content.iter_any():
                if len(body) + len(part) > max_bytes:
                    raise _too_large(too_large)
                # The parser allocates an object for each value, list and object.
                commas += part.count(b",")
                opened += part.count(b"[") + part.count(b"{")
                if commas > max_values or opened > 2 * max_values:
                    raise _too_large(
                        "The request body has more values than "
                        f"{self._max_batch_size} examples of the model"
                    )
                if len(part) > self._free_bytes:
                    raise unavailable("The memory for bodies is full. Send the request later.")
                self._free_bytes -= len(part)
                body += part
            yield body
        except web.RequestPayloadError as error:
            raise invalid_argument(f"The body cannot be read: {error}") from None
        finally:
            self._free_bytes += len(body)

    async def parse(self, body: bytearray, model: Servable) -> json_format.Request:
        """Returns the parsed request; raises the errors of `json_format.read`."""
        most = self._max_batch_size
        return await self._convert(len(body), json_format.read, body, model.signature, most)

    async def write(self, outputs: Arrays, request: json_format.Request) -> bytes:
        """Returns the outputs as JSON."""
        size = sum(array.size for array in outputs.values()) * _BYTES_PER_VALUE
        signature, by_row = request.signature, request.by_row
        return await self._convert(size, json_format.write, outputs, signature, by_row)

    async def _convert(self, size: int, convert: Callable[..., Any], *arguments: Any) -> Any:
        """Runs a conversion of about `size` bytes, in a thread if it may take long."""
        if size <= _SMALL_BYTES:
            return convert(*arguments)
        # A conversion holds the GIL. A pause three times as long lets other requests run.
        loop = asyncio.get_running_loop()
        await self._converting.acquire()
        start = loop.time()

        def release(done):
            loop.call_later(3 * (loop.time() - start), self._converting.release)
            done.exception()  # or that of a cancelled request, whose thread goes on, is logged

        future = loop.run_in_executor(None, convert, *arguments)
        future.add_done_callback(release)
        return await asyncio.shield(future)


def _too_large(message: str) -> StatusError:
    return StatusError(grpc.StatusCode.RESOURCE_EXHAUSTED, message, http_status=413)
