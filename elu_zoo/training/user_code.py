"""Hash of the user's code on which a run depends."""

import contextlib
import inspect
from pathlib import Path

import keras
from ml_collections import ConfigDict

from elu_zoo import activations, files, registry
from elu_zoo.activations.table import is_maxout


def digest(model: ConfigDict) -> str:
    """Returns a hash of the source of a user's network and activation now, or ""."""
    used = [inspect.unwrap(registry.entry(model.name).builder)]
    if not is_maxout(model.activation):
        layer = activations.make(model.activation, "activation", seed=0)
        of_function = type(layer) is keras.layers.Activation
        used.append(inspect.unwrap(layer.activation) if of_function else type(layer))
    sources = set()
    for each in used:
        if (each.__module__ or "keras").partition(".")[0] not in ("elu_zoo", "keras"):
            # Python finds no source of, for example, the code of an interactive shell.
            with contextlib.suppress(OSError, TypeError):
                sources.add(_source(each))
    return files.sha256(b"\0".join(sorted(sources)))[:16] if sources else ""


def _source(used: object) -> bytes:
    path = Path(inspect.getsourcefile(used))
    # The cells of a notebook have no file.
    return path.read_bytes() if path.is_file() else inspect.getsource(used).encode()
