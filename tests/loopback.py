"""HTTP servers on the loopback interface, for the length of one test."""

import contextlib
import http.server
import threading
from collections.abc import Iterator


class Server(http.server.ThreadingHTTPServer):
    """A server that keeps what it was asked for.

    Attributes:
        requests: path and headers of each request, in order.
        stopped: set at the end, for handlers that wait.
    """

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler]):
        super().__init__(("127.0.0.1", 0), handler)
        self.requests = []
        self.stopped = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Says nothing: a client that goes away is what the tests are about."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Notes each request."""

    def parse_request(self):
        parsed = super().parse_request()
        if parsed:
            self.server.requests.append((self.path, dict(self.headers)))
        return parsed

    def log_message(self, *arguments):
        pass

    def answer(self, content: bytes, code: int = 200, **headers: str) -> None:
        """Answers whole; `_` in the names of headers stands for `-`."""
        self.send_response(code)
        headers = {"Content_Length": str(len(content)), **headers}
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextlib.contextmanager
def serve(handler: type[Handler]) -> Iterator[Server]:
    """Yields a server that answers in threads of its own."""
    with Server(handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.stopped.set()
            server.shutdown()
            thread.join()
