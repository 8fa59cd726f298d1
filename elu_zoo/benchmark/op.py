"""Functions to time: our ELU, other libraries' ELUs, and lower bounds (copy, ReLU)."""

import importlib.util
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elu_zoo.activations import elu_xla

PASSES = ("forward", "forward and backward")
# exp(x) = 2^(x / ln 2). The integer part of x / ln 2 becomes the exponent of a float,
# the fractional part interpolates between powers of two. The shift by 366,393 minimises
# the root mean square error (Schraudolph, 1999).
_PER_UNIT = np.float32(2**23 / np.log(2))
_ONE = np.float32(127 * 2**23 - 366_393)


def schraudolph(x: tf.Tensor) -> tf.Tensor:
    """Returns the ELU of `x` by Schraudolph's approximation of the exponential."""
    bits = tf.cast(tf.clip_by_value(x, -80.0, 0.0) * _PER_UNIT + _ONE, tf.int32)
    return tf.where(x > 0, x, tf.bitcast(bits, tf.float32) - 1.0)


BASELINE = "ours, XLA"
APPROXIMATIONS = {
    BASELINE: tf.function(elu_xla, jit_compile=True),
    "tf.nn.elu, eager": tf.nn.elu,
    "Schraudolph's exponential, XLA": tf.function(schraudolph, jit_compile=True),
}


def largest_error(function: Callable[[tf.Tensor], tf.Tensor]) -> float:
    """Returns the largest absolute error of an ELU in float32 on [-20, 0]."""
    x = np.linspace(-20, 0, 2_000_001, dtype=np.float32)
    y = np.asarray(function(tf.constant(x)), np.float64)
    return float(np.abs(y - np.expm1(x.astype(np.float64))).max())


_COMPILED = {
    BASELINE: elu_xla,
    "tf.nn.elu, XLA": tf.nn.elu,
    "keras.activations.elu, XLA": keras.activations.elu,
    "Schraudolph's exponential, XLA": schraudolph,
    "relu, XLA": tf.nn.relu,
    "copy (negation), XLA": tf.negative,
}


def forms(size: int, kind: str) -> dict[str, Callable[[], Any]]:
    """Returns the functions to time by name, for the installed libraries.

    Args:
        size: number of elements of the float32 tensor.
        kind: one of `PASSES`.
    """
    draws = np.random.Generator(np.random.Philox(0))
    x = draws.standard_normal(size, np.float32)
    dy = draws.standard_normal(size, np.float32) if kind == PASSES[1] else None
    tensors = tf.constant(x), None if dy is None else tf.constant(dy)
    functions = {
        name: _tensorflow(function, *tensors, compiled=True)
        for name, function in _COMPILED.items()
    }
    functions["tf.nn.elu, eager"] = _tensorflow(tf.nn.elu, *tensors, compiled=False)
    for library, make in (("jax", _jax), ("torch", _torch)):
        if importlib.util.find_spec(library):
            functions[library] = make(x, dy)
    return functions


def _tensorflow(
    function: Callable, x: tf.Tensor, dy: tf.Tensor | None, compiled: bool
) -> Callable[[], Any]:
    def with_gradient(x, dy):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return y, tape.gradient(y, x, dy)

    timed, arguments = (function, (x,)) if dy is None else (with_gradient, (x, dy))
    if compiled:
        timed = tf.function(timed, jit_compile=True)

    # A value is read because, on a GPU, a call may return before its work is done.
    return lambda: tf.nest.flatten(timed(*arguments))[-1][-1:].numpy()


def _jax(x: np.ndarray, dy: np.ndarray | None) -> Callable[[], Any]:
    import jax

    def with_gradient(x, dy):
        y, pull = jax.vjp(jax.nn.elu, x)
        return y, pull(dy)

    timed = jax.jit(jax.nn.elu if dy is None else with_gradient)
    arguments = jax.device_put((x,) if dy is None else (x, dy))
    return lambda: jax.block_until_ready(timed(*arguments))


def _torch(x: np.ndarray, dy: np.ndarray | None) -> Callable[[], Any]:
    import torch

    tensor = torch.from_numpy(x).requires_grad_(dy is not None)
    upstream = None if dy is None else torch.from_numpy(dy)

    def call():
        y = torch.nn.functional.elu(tensor)
        return y if dy is None else (y, *torch.autograd.grad(y, tensor, upstream))

    return call
