"""Arrays that layers compute with and that are no weights of a model."""

import contextlib
from typing import Any

import keras
import numpy as np


def constant(array: np.ndarray, dtype: str) -> Any:
    """Returns a tensor that outlives the graph in which it is first asked for."""
    with _outside_of_graphs():
        return keras.ops.convert_to_tensor(array, dtype)


def _outside_of_graphs() -> contextlib.AbstractContextManager:
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.init_scope()
    if keras.backend.backend() == "jax":
        import jax

        return jax.ensure_compile_time_eval()
    return contextlib.nullcontext()
