"""A file of random bytes and its entry, for tests of downloads."""

import hashlib
from pathlib import Path

import numpy as np

from elu_zoo.weights import manifest

CONTENT = np.random.default_rng(0).bytes(150_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
TAG = f"net.mnist_elu-{SHA256[:8]}"
NAME = TAG + manifest.SUFFIX


def entry(*sources: str, **changes) -> dict:
    """Returns the fields of an entry that a download reads."""
    fields = {"tag": TAG, "model": "net", "dataset": "mnist", "sha256": SHA256}
    return fields | {"preprocessing": {"kind": "mean"}, "sources": list(sources)} | changes


def present(folder: Path) -> list[str]:
    """Returns the files below a folder, including hidden files."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
