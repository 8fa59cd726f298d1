"""A server in the process of the tests, with an event loop in another thread."""

import asyncio
import threading
import time
import urllib.error
import urllib.request

from elu_zoo.serving.server import Server

SECONDS = 60  # The first server of a process collects the garbage of all earlier tests: 16 s.


class Running:
    """A started server, whose event loop runs in another thread."""

    def __init__(self, settings):
        self.runner = asyncio.Runner()
        self.loop = self.runner.get_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        try:
            self.server = Server(settings)
            self.call(self.server.start())
        except BaseException:
            self.close()
            raise

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(SECONDS)

    def get(self, path, body=None):
        """Sends GET, or POST if there is a body; returns the status and the text."""
        url = f"http://{self.server.rest_address}{path}"
        try:
            with urllib.request.urlopen(url, body, SECONDS) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.runner.close()


def until(condition):
    """Returns as soon as `condition()` is true; fails after `SECONDS` seconds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
