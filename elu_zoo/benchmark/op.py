"""The ELU op in every way of calling it: time, memory and errors."""

import functools
import gc
import importlib.util
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elu_zoo.activations import ELU, elu, elu_xla

SHAPES = {"1e7 floats": (10_000_000,), "128 x 128": (128, 128)}
PASSES = ("forward", "forward and backward")
CALLS = {
    "eager": lambda function: function,
    "traced": tf.function,
    "jit": functools.partial(tf.function, jit_compile=True),
}
STOCK, STOCK_LAYER = "tf.nn.elu", "keras.layers.ELU()"
FUNCTIONS = {STOCK: tf.nn.elu, "elu": elu, "elu_xla": elu_xla}
LAYERS = {
    STOCK_LAYER: keras.layers.ELU(),
    "ELU()": ELU(),
    "ELU(jit_compile=True)": functools.partial(ELU(jit_compile=True), training=True),
}
# Lower limits of a compiled function that reads and writes each element once.
_LIMITS = {"relu": tf.nn.relu, "copy (negation)": tf.negative}
_LARGE = 1_000_000  # elements of a tensor for which one call is long enough to be timed
# 32 MiB. TensorFlow reserves a power of two for such a tensor.
MEMORY_FLOATS = 2**23
_REPEATS = 20  # calls of a function on a smaller tensor


def repeats(shape: tuple[int, ...]) -> int:
    """Returns how often a function of `forms` calls the op."""
    return 1 if np.prod(shape) >= _LARGE else _REPEATS


def forms(call: str, kind: str, shape: tuple[int, ...]) -> dict[str, Callable]:
    """Returns the functions to time, by name, for one of `CALLS` and one of `PASSES`.

    PyTorch is called eagerly, and JAX as a compiled function.
    """
    draws = np.random.Generator(np.random.Philox(0))
    count = 1 + PASSES.index(kind)  # also the upstream gradient
    arrays = [draws.standard_normal(shape, np.float32) for _ in range(count)]
    functions = FUNCTIONS | LAYERS | (_LIMITS if call == "jit" else {})
    tensors = [tf.constant(array) for array in arrays]
    one_call = {
        name: _tensorflow(function, tensors, CALLS[call]) for name, function in functions.items()
    }
    for library, make, by in (("torch", _torch, "eager"), ("jax", _jax, "jit")):
        if call == by and importlib.util.find_spec(library):
            one_call[library] = make(*arrays)
    return {name: _repeat(timed, repeats(shape)) for name, timed in one_call.items()}


def _repeat(call: Callable[[], Callable], count: int) -> Callable[[], Any]:
    def timed():
        for _ in range(count):
            wait = call()
        return wait()

    return timed


def _gradient(function: Callable, x: tf.Tensor, dy: tf.Tensor) -> tuple:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return y, tape.gradient(y, x, dy)


def _tensorflow(
    function: Callable, tensors: list[tf.Tensor], compiled: Callable
) -> Callable[[], Callable]:
    if len(tensors) == 2:
        function = functools.partial(_gradient, function)
    called = compiled(function)

    def call():
        results = called(*tensors)
        # A value is read because, on a GPU, a call may return before its work is done.
        return lambda: tf.nest.flatten(results)[-1][-1:].numpy()

    return call


def _jax(x: np.ndarray, dy: np.ndarray | None = None) -> Callable[[], Callable]:
    import jax

    def with_gradient(x, dy):
        y, pull = jax.vjp(jax.nn.elu, x)
        return y, pull(dy)

    timed = jax.jit(jax.nn.elu if dy is None else with_gradient)
    arguments = jax.device_put((x,) if dy is None else (x, dy))

    def call():
        results = timed(*arguments)
        return lambda: jax.block_until_ready(results)

    return call


def _torch(x: np.ndarray, dy: np.ndarray | None = None) -> Callable[[], Callable]:
    import torch

    tensor = torch.from_numpy(x).requires_grad_(dy is not None)
    upstream = None if dy is None else torch.from_numpy(dy)

    def call():
        y = torch.nn.functional.elu(tensor)
        results = y if dy is None else torch.autograd.grad(y, tensor, upstream)
        return lambda: results

    return call


def tape_memory() -> dict[str, dict[str, float]]:
    """Returns the MiB that an eager tape of each of `FUNCTIONS` keeps, and the peak.

    The peak includes no input. On CPUs without oneDNN, TensorFlow counts no memory: {}.
    """
    device = "GPU:0" if tf.config.get_visible_devices("GPU") else "CPU:0"
    statistics = functools.partial(tf.config.experimental.get_memory_info, device)
    x = tf.random.stateless_normal([MEMORY_FLOATS], [0, 0])
    dy = tf.ones_like(x)
    found: dict[str, dict[str, float]] = {"kept": {}, "peak": {}}
    for name, function in FUNCTIONS.items():
        _gradient(function, x, dy)  # compiles
        gc.collect()
        try:
            tf.config.experimental.reset_memory_stats(device)
        except ValueError:
            return {}
        before = statistics()["current"]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        found["kept"][name] = (statistics()["current"] - before) / 2**20
        gradient = tape.gradient(y, x, dy)
        found["peak"][name] = (statistics()["peak"] - before) / 2**20
        del tape, y, gradient
    return found


def ulps(call: str) -> dict[str, float]:
    """Returns the largest error of each of `FUNCTIONS` on negative numbers.

    Errors are in units of the last place of the correctly rounded result.
    """
    # Bit patterns from -0.0 to -20.
    x = np.arange(0x8000_0000, 0xC1A0_0000, 1009, np.uint32).view(np.float32)
    exact = np.expm1(x.astype(np.float64))
    place = np.abs(np.spacing(exact.astype(np.float32))).astype(np.float64)
    largest = {}
    for name, function in FUNCTIONS.items():
        y = CALLS[call](function)(tf.constant(x)).numpy().astype(np.float64)
        largest[name] = float((np.abs(y - exact) / place).max())
    return largest
