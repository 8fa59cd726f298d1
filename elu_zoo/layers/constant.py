"""Constant tensors of layers, such as a mean image, which are not weights."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

_embeds = contextvars.ContextVar("elu_zoo_embeds_constants", default=False)


def constant(array: np.ndarray, dtype: str) -> Any:
    """Returns a tensor that stays valid outside of the graph that is being traced."""
    with _outside_of_graphs():
        return keras.ops.convert_to_tensor(array, dtype)


def captured(tensor: Any) -> Any:
    """Returns `tensor`, a result of `constant`, for use in the graph being traced."""
    return keras.ops.convert_to_tensor(tensor.numpy()) if _embeds.get() else tensor


@contextlib.contextmanager
def embed_constants() -> Iterator[None]:
    """Copies the constants into every TensorFlow graph traced in this context.

    By default, graphs capture constants by reference, so that all graphs share one
    copy. An exporter such as tf2onnx treats captured tensors as inputs of the model.
    """
    token = _embeds.set(True)
    try:
        yield
    finally:
        _embeds.reset(token)


def _outside_of_graphs() -> contextlib.AbstractContextManager:
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.init_scope()
    if keras.backend.backend() == "jax":
        import jax

        return jax.ensure_compile_time_eval()
    return contextlib.nullcontext()
