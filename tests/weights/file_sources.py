"""A server of one file. The first folder of a path selects a fault of the server."""

import hashlib
from pathlib import Path

import loopback
import numpy as np

from elu_zoo.weights import manifest

CONTENT = np.random.default_rng(0).bytes(150_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
WRONG = CONTENT[:-1] + b"?"
TAG = f"net.mnist_elu-{SHA256[:8]}"
NAME = TAG + manifest.SUFFIX
ENTRY = {
    "tag": TAG,
    "model": "net",
    "dataset": "mnist",
    "sha256": SHA256,
    "bytes": len(CONTENT),
    "preprocessing": {},
}


def entry(*sources: str, **changes) -> dict:
    """Returns the fields of an entry that a download reads."""
    return {**ENTRY, "sources": list(sources), **changes}


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

    def wrong(self):
        self.answer(WRONG)

    def long(self):
        self.answer(self.content + b"?")

    def endless(self):
        self.answer(b"", Content_Length="9" * 18)
        self.repeat(self.content, seconds=0)

    def unsized(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.content)

    def chunked(self):
        self.protocol_version = "HTTP/1.1"
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in (self.content[:70_000], self.content[70_000:], b""):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

    def absent(self):
        self.send_error(404)

    def bad_reason(self):
        self.send_response(500, "no\x1b[2J\rway")
        self.end_headers()

    def garbage(self):
        self.wfile.write(b"SSH-2.0-OpenSSH\r\n")

    def silent(self):
        self.server.stopped.wait()

    def drips(self):
        self.answer(b"", Content_Length=str(len(self.content)))
        self.repeat(b"x")

    def repeat(self, part, seconds=0.02):
        while not self.server.stopped.wait(seconds):
            self.wfile.write(part)

    def moved(self):
        """Redirects to `good`, with a body that has no end."""
        self.answer(b"", 302, Location=self.folder("good"), Content_Length="9" * 18)
        self.repeat(self.content, seconds=0)

    def circle(self):
        self.answer(b"", 302, Location=self.path)

    def to_a_file(self):
        self.answer(b"", 302, Location="file:///etc/passwd")

    def to_ftp(self):
        self.answer(b"", 302, Location="ftp://127.0.0.1/x")

    def folder(self, name):
        return f"/{name}/{self.path.rpartition('/')[2]}"
