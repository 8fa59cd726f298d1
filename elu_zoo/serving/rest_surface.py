"""TensorFlow Serving's REST surface, and around it a page, health and metrics."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any
from urllib.parse import unquote

import grpc
import orjson
from aiohttp import web
from tensorflow_serving.apis import model_pb2

import elu_zoo
from elu_zoo.serving import hosts, json_format, metadata, metrics, refusals
from elu_zoo.serving.bodies import Bodies, discard
from elu_zoo.serving.connections import Connections
from elu_zoo.serving.mailbox import Mailbox
from elu_zoo.serving.metrics import Metrics
from elu_zoo.serving.refusals import Refusal
from elu_zoo.serving.repository import Repository
from elu_zoo.serving.servable import Servable

SERVER = f"elu-zoo-serve/{elu_zoo.__version__}"
_MODEL = r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?"
_PREDICT = re.compile(rf"(?i){_MODEL}:(classify|regress|predict)")
_STATUS = re.compile(rf"(?i){_MODEL}(/metadata)?")
_LARGEST_VERSION = 2**63 - 1
# The page runs its own script and talks to this server alone.
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


class RestSurface:
    """The REST surface on a repository's models."""

    def __init__(
        self,
        repository: Repository,
        counters: Metrics,
        connections: Connections,
        bodies: Bodies,
        hosts: frozenset[str] | None,
        timeout_seconds: float,
    ):
        self._repository = repository
        self._metrics = counters
        self._connections = connections
        self._hosts = hosts
        self._bodies = bodies
        self._timeout_seconds = timeout_seconds
        self._mailbox = Mailbox()
        self.draining = False
        self.running = 0

    def application(self) -> web.Application:
        """Returns the application, for an aiohttp runner."""
        application = web.Application(middlewares=[self._guarded])
        application.router.add_get("/", self._page)
        application.router.add_get("/models", self._models)
        application.router.add_get("/livez", self._live)
        application.router.add_get("/readyz", self._ready)
        application.router.add_get(metrics.PATH, self._prometheus)
        application.router.add_route("*", "/{_:[vV]1}/{rest:.*}", self._v1)
        return application

    @web.middleware
    async def _guarded(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        self.running += 1
        self._connections.begin(request)
        try:
            response = await self._answered(request, handler)
            response.headers["Server"] = SERVER
            if self.draining:
                response.force_close()
            if not request.content.is_eof():
                await discard(request, response)
        finally:
            self.running -= 1
            self._connections.end(request)
        return response

    async def _answered(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        host = request.headers.get("Host", "")
        if not hosts.answers(host, self._hosts):
            return web.Response(status=403, text=hosts.refusal(host, self._hosts))
        try:
            return await handler(request)
        except Refusal as refusal:
            return _error(refusal.http_status, refusal.message, refusal.available)
        except web.HTTPException as error:
            return _error(error.status, error.reason, headers=error.headers)
        except ConnectionError:
            raise
        except Exception as error:
            logging.getLogger(__name__).exception("%s", request.path)
            return _error(500, f"{type(error).__name__} in the server")

    async def _v1(self, request: web.Request) -> web.Response:
        path = request.rel_url.raw_path
        if request.method == "POST" and (match := _PREDICT.fullmatch(path)):
            *model, method = match.groups()
            if method.lower() != "predict":
                raise Refusal(
                    grpc.StatusCode.UNIMPLEMENTED,
                    f"This server has no method {method}: it predicts.",
                )
            return await self._predict(request, _spec(*model))
        if request.method == "GET" and (match := _STATUS.fullmatch(path)):
            *model, is_metadata = match.groups()
            spec = _spec(*model)
            if is_metadata:
                return _json(metadata.as_json(self._repository.find(spec)))
            return _json(metadata.message_json(self._repository.status(spec)))
        raise refusals.invalid(
            f"Malformed request: {request.method} {refusals.clipped(path)}"
        )

    async def _predict(
        self, request: web.Request, spec: model_pb2.ModelSpec
    ) -> web.Response:
        found = self._repository.find(spec)
        with self._metrics.request(found.name, "REST"):
            try:
                async with (
                    asyncio.timeout(self._timeout_seconds),
                    self._bodies.read(request, found) as body,
                ):
                    content = await self._answer(found, body)
            except TimeoutError:
                raise Refusal(
                    grpc.StatusCode.DEADLINE_EXCEEDED,
                    f"Not answered within {self._timeout_seconds:g} s",
                ) from None
        return web.Response(body=content, content_type="application/json")

    async def _answer(self, found: Servable, body: bytes) -> bytes:
        asked = await self._bodies.parse(body, found)
        answered = await self._mailbox.wait(
            found.batchers[asked.signature.name].submit(asked.arrays)
        )
        return json_format.write(answered, asked.signature, by_row=asked.by_row)

    async def _page(self, request: web.Request) -> web.Response:
        page = resources.files(__package__).joinpath("page.html").read_text("utf-8")
        return web.Response(
            text=page, content_type="text/html", headers=dict(_PAGE_HEADERS)
        )

    async def _models(self, request: web.Request) -> web.Response:
        return _json([metadata.described(s) for s in self._repository.serving()])

    async def _live(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _ready(self, request: web.Request) -> web.Response:
        if self.draining:
            raise Refusal(grpc.StatusCode.UNAVAILABLE, "The server is stopping")
        if not self._repository.serving():
            raise Refusal(grpc.StatusCode.UNAVAILABLE, "There is no model to serve")
        return web.Response(text="ok\n")

    async def _prometheus(self, request: web.Request) -> web.Response:
        return web.Response(
            body=self._metrics.text(),
            headers={"Content-Type": metrics.CONTENT_TYPE},
        )


def _spec(name: str, version: str | None, label: str | None) -> model_pb2.ModelSpec:
    spec = model_pb2.ModelSpec(name=unquote(name))
    if version is not None:
        if len(version) > 19 or int(version) > _LARGEST_VERSION:
            raise refusals.invalid(
                f"Failed to convert version: {refusals.clipped(version)} to numeric."
            )
        spec.version.value = int(version)
    if label is not None:
        spec.version_label = unquote(label)
    return spec


def _json(content: object, status: int = 200) -> web.Response:
    return web.Response(
        body=orjson.dumps(content), content_type="application/json", status=status
    )


def _error(
    status: int,
    message: str,
    available: tuple[str, ...] = (),
    headers: Any = None,
) -> web.Response:
    content = {"error": message} | ({"available": available} if available else {})
    response = _json(content, status)
    if headers and "Allow" in headers:
        response.headers["Allow"] = headers["Allow"]
    return response
