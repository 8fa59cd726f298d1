"""Constant tensors of layers, such as a mean image, that are not weights."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

_in_graphs = contextvars.ContextVar("in_graphs", default=False)


def constant(array: np.ndarray, dtype: str) -> Any:
    """Returns a tensor that stays valid outside of the graph that is being traced."""
    with _outside_of_graphs():
        return keras.ops.convert_to_tensor(array, dtype)


def used(tensor: Any) -> Any:
    """Returns a tensor of `constant`, inside `in_graphs` as a new graph constant."""
    return keras.ops.convert_to_tensor(tensor.numpy()) if _in_graphs.get() else tensor


@contextlib.contextmanager
def in_graphs() -> Iterator[None]:
    """Makes the constants part of every TensorFlow graph traced in this context.

    By default graphs capture them by reference and share one copy; tf2onnx treats a
    captured tensor as an input of the model.
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
