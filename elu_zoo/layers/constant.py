"""Arrays that layers compute with and that are no weights of a model."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

_in_graphs = contextvars.ContextVar("in_graphs", default=False)


def constant(array: np.ndarray, dtype: str) -> Any:
    """Returns a tensor that outlives the graph in which it is first asked for."""
    with _outside_of_graphs():
        return keras.ops.convert_to_tensor(array, dtype)


def used(tensor: Any) -> Any:
    """Returns a tensor of `constant` as a layer computes with it, see `in_graphs`."""
    return keras.ops.convert_to_tensor(tensor.numpy()) if _in_graphs.get() else tensor


@contextlib.contextmanager
def in_graphs() -> Iterator[None]:
    """Makes the constants part of each TensorFlow graph that is traced meanwhile.

    Otherwise a graph refers to them, and all graphs share one copy; tf2onnx would
    take such a reference for an input of the model.
    """
    token = _in_graphs.set(True)
    try:
        yield
    finally:
        _in_graphs.reset(token)


def _outside_of_graphs() -> contextlib.AbstractContextManager:
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.init_scope()
    if keras.backend.backend() == "jax":
        import jax

        return jax.ensure_compile_time_eval()
    return contextlib.nullcontext()
