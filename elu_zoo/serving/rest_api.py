"""HTTP handlers: TensorFlow Serving's REST API, the web page, health and metrics."""

import asyncio
import base64
import logging
import re
from collections.abc import Awaitable, Callable
from importlib import resources
from urllib.parse import unquote

import grpc
import orjson
import prometheus_client
import tensorflow as tf
from aiohttp import web
from tensorflow_serving.apis import model_pb2

from elu_zoo import errors
from elu_zoo.data import digits, images
from elu_zoo.serving import connections, hosts, metadata, metrics
from elu_zoo.serving.bodies import Bodies
from elu_zoo.serving.metrics import Metrics
from elu_zoo.serving.repository import Repository
from elu_zoo.serving.servable import Servable
from elu_zoo.serving.settings import Settings
from elu_zoo.serving.status_errors import StatusError, invalid_argument, shorten, unavailable

_MODEL = r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?"
_DIGIT_PIXELS = 2**20  # limit of an image that the page sends to /digit
_PREDICT = re.compile(rf"(?i){_MODEL}:(classify|regress|predict)")
_STATUS = re.compile(rf"(?i){_MODEL}(/metadata)?")
# Restricts the page to inline scripts, and to requests to this server.
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
_CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RestApi:
    """The HTTP handlers for the models of a repository.

    Attributes:
        draining: whether the server is stopping, so that responses close connections.
        running: number of unfinished requests.
    """

    def __init__(
        self,
        settings: Settings,
        repository: Repository,
        counters: Metrics,
        open_connections: connections.Connections,
    ):
        self._repository = repository
        self._metrics = counters
        self._connections = open_connections
        self._bodies = Bodies(settings)
        self._allowed_hosts = hosts.allowed_hosts(settings.host)
        self._timeout_seconds = settings.rest_api_timeout_in_ms / 1000
        self._v1_headers = _CORS_HEADERS if settings.rest_api_enable_cors_support else {}
        self._one_digit = asyncio.Lock()
        self.draining = False
        self.running = 0

    def application(self) -> web.Application:
        application = web.Application(middlewares=[self._middleware])
        application.router.add_get("/", self._page)
        application.router.add_get("/models", self._models)
        application.router.add_post("/digit", self._digit)
        application.router.add_get("/livez", self._live)
        application.router.add_get("/readyz", self._ready)
        for path in metrics.PATHS:
            application.router.add_get(path, self._prometheus)
        application.router.add_route("*", "/{_:[vV]1}/{rest:.*}", self._v1)
        return application

    @web.middleware
    async def _middleware(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        self.running += 1
        self._connections.change(request.protocol, request)
        try:
            response = await self._respond(request, handler)
            response.headers.update(connections.HEADERS)
            if request.path.lower().startswith("/v1/"):
                response.headers.update(self._v1_headers)
            if self.draining:
                response.force_close()
        finally:
            self.running -= 1
            self._connections.change(request.protocol, None)
        return response

    async def _respond(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Returns the handler's response, or converts its error to a response."""
        try:
            host = request.headers.get("Host", "")
            if not hosts.is_allowed(host, self._allowed_hosts):
                allowed = ", ".join(sorted(self._allowed_hosts))
                raise StatusError(
                    grpc.StatusCode.PERMISSION_DENIED,
                    f"The Host header must be one of {allowed}, got {shorten(host)}. Let a proxy "
                    "send localhost, or start elu-zoo-serve with --host=<address>.",
                )
            return await handler(request)
        except StatusError as error:
            return _error(error.http_status, error.message)
        except web.HTTPException as error:
            response = _error(error.status, error.reason)
            if "Allow" in error.headers:
                response.headers["Allow"] = error.headers["Allow"]
            return response
        except ConnectionError:
            raise
        except Exception as error:
            logging.getLogger(__name__).exception("%s", request.path)
            return _error(500, f"{type(error).__name__} in the server")

    async def _v1(self, request: web.Request) -> web.Response:
        path = request.rel_url.raw_path
        if request.method == "OPTIONS" and self._v1_headers:
            return web.Response()
        if request.method == "POST" and (match := _PREDICT.fullmatch(path)):
            *model, method = match.groups()
            if method.lower() != "predict":
                text = f"This server does not support {method}. Use predict."
                raise StatusError(grpc.StatusCode.UNIMPLEMENTED, text)
            return await self._predict(request, _spec(*model))
        if request.method == "GET" and (match := _STATUS.fullmatch(path)):
            *model, is_metadata = match.groups()
            spec = _spec(*model)
            if is_metadata:
                return _json(metadata.as_json(self._repository.find(spec)))
            return _json(metadata.message_json(self._repository.status(spec)))
        raise invalid_argument(f"Malformed request: {request.method} {shorten(path)}")

    async def _predict(self, request: web.Request, spec: model_pb2.ModelSpec) -> web.Response:
        model = self._repository.find(spec)
        with self._metrics.request(model.name, "REST"):
            try:
                async with (
                    asyncio.timeout(self._timeout_seconds),
                    self._bodies.read(request, model) as body,
                ):
                    content = await self._outputs(model, body)
            except TimeoutError:
                text = f"The request took longer than {self._timeout_seconds:g} s"
                raise StatusError(grpc.StatusCode.DEADLINE_EXCEEDED, text) from None
        return web.Response(body=content, content_type="application/json")

    async def _outputs(self, model: Servable, body: bytearray) -> bytes:
        parsed = await self._bodies.parse(body, model)
        future = model.batchers[parsed.signature.name].submit(parsed.arrays)
        outputs = await asyncio.wrap_future(future)
        return await self._bodies.write(outputs, parsed)

    async def _page(self, request: web.Request) -> web.Response:
        page = resources.files(__package__).joinpath("page.html").read_text("utf-8")
        return web.Response(text=page, content_type="text/html", headers=_PAGE_HEADERS)

    async def _models(self, request: web.Request) -> web.Response:
        return _json([metadata.describe(s) for s in self._repository.serving()])

    async def _digit(self, request: web.Request) -> web.Response:
        """Returns an image of the page in MNIST's form, and what is odd about it."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                # The page sends small images; aiohttp limits the body to a megabyte.
                image = await request.read()
                await self._one_digit.acquire()  # until the thread ends, perhaps after the request
                future = asyncio.get_running_loop().run_in_executor(None, _digit, image)
                future.add_done_callback(lambda x: (self._one_digit.release(), x.exception()))
                content = await asyncio.shield(future)
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        except (errors.DataError, web.RequestPayloadError) as error:
            raise invalid_argument(f"The image cannot be used: {error}.") from None
        return _json(content)

    async def _live(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _ready(self, request: web.Request) -> web.Response:
        if self.draining:
            raise unavailable("The server is stopping")
        if not self._repository.serving():
            raise unavailable("No model is loaded")
        if self.is_stuck():
            raise unavailable(f"A batch has run for more than {self._timeout_seconds:g} s")
        return web.Response(text="ok\n")

    def is_stuck(self) -> bool:
        """Returns whether a batch has run for longer than the time limit of a request."""
        return self._metrics.longest_batch() > self._timeout_seconds

    async def _prometheus(self, request: web.Request) -> web.Response:
        return web.Response(
            body=self._metrics.text(),
            headers={"Content-Type": prometheus_client.CONTENT_TYPE_LATEST},
        )


def _digit(image: bytes) -> dict[str, str]:
    pixels = images.decode_checked(image, (None, None, 1), 1, _DIGIT_PIXELS)
    made, odd = digits.normalize(pixels)
    png = base64.b64encode(tf.io.encode_png(made).numpy()).decode()
    return {"b64": png, "warning": f"The image {odd}." if odd else ""}


def _spec(name: str, version: str | None, label: str | None) -> model_pb2.ModelSpec:
    spec = model_pb2.ModelSpec(name=unquote(name))
    if version is not None:
        try:
            spec.version.value = int(version)
        except ValueError:
            raise invalid_argument(f"{shorten(version)} is too large for a version") from None
    if label is not None:
        spec.version_label = unquote(label)
    return spec


def _json(content: object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(content), content_type="application/json", status=status)


def _error(status: int, message: str) -> web.Response:
    return _json({"error": message}, status)
