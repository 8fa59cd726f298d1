"""HTTP servers on the loopback interface, for tests."""

import contextlib
import http.server
import threading
from collections.abc import Iterator


class Server(http.server.ThreadingHTTPServer):
    """A server that records path and headers of its requests."""

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler]):
        super().__init__(("127.0.0.1", 0), handler)
        self.requests = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    """A request handler that records each request in its server."""

    def parse_request(self):
        parsed = super().parse_request()
        if parsed:
            self.server.requests.append((self.path, dict(self.headers)))
        return parsed

    def log_message(self, *arguments):
        pass

    def answer(self, content: bytes, code: int = 200, **headers: str) -> None:
        """Sends a response; a `_` in the name of a header is sent as `-`."""
        self.send_response(code)
        headers = {"Content_Length": str(len(content)), **headers}
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextlib.contextmanager
def serve(handler: type[Handler]) -> Iterator[Server]:
    """Yields a server that handles requests in other threads."""
    with Server(handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
