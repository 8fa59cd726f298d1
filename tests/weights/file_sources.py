"""A server of one file. The first folder of a path selects a fault of the server."""

import hashlib
from pathlib import Path

import loopback
import numpy as np

from elu_zoo.weights import manifest

CONTENT = np.random.default_rng(0).bytes(150_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
TAG = f"net.mnist_elu-{SHA256[:8]}"
NAME = TAG + manifest.SUFFIX


def entry(*sources: str, **changes) -> dict:
    """Returns the fields of an entry that a download reads."""
    fields = {"tag": TAG, "model": "net", "dataset": "mnist", "sha256": SHA256}
    fields |= {"bytes": len(CONTENT), "preprocessing": {}, "sources": list(sources)}
    return fields | changes


def present(folder: Path) -> list[str]:
    """Returns the files below a folder, including hidden files."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


class Handler(loopback.Handler):
    """A request handler; the first folder of a path names the method that responds."""

    content = CONTENT

    def do_GET(self):
        getattr(self, self.path.split("/")[1])()

    def good(self):
        self.answer(self.content)

    def truncated(self):
        self.answer(self.content[:-9], Content_Length=str(len(self.content)))

    def endless(self):
        self.answer(b"", Content_Length="9" * 18)
        while not self.server.stopped.is_set():
            self.wfile.write(self.content)

    def bad_reason(self):
        self.send_response(500, "no\x1b[2J\rway")
        self.end_headers()

    def garbage(self):
        self.wfile.write(b"SSH-2.0-OpenSSH\r\n")

    def silent(self):
        self.server.stopped.wait()

    def moved(self):
        self.answer(b"", 302, Location=f"/good/{self.path.rpartition('/')[2]}")

    def to_a_file(self):
        self.answer(b"", 302, Location="file:///etc/passwd")
