"""The exponential linear unit for XLA on TensorFlow.

On a CPU, XLA computes `expm1` element by element. The polynomial of this module is as
accurate as `expm1` and consists of operations that XLA vectorises. Without XLA the
polynomial is several times slower than `expm1`.
"""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from elu_zoo.errors import UsageError

LOG2_E = 1.44269504088896341
# ln 2 as a sum (Cephes): n * LN2_HIGH is exact for every n that occurs.
LN2_HIGH = 0.693359375
LN2_LOW = -2.12194440e-4
# expm1(r) = r + r^2 * (c0 + c1 r + ...) for |r| <= ln(2) / 2 (Cephes, expf).
COEFFICIENTS = (
    5.0000001201e-1,
    1.6666665459e-1,
    4.1665795894e-2,
    8.3334519073e-3,
    1.3981999507e-3,
    1.9875691500e-4,
)
# For x < LOWEST, expm1(x) rounds to -1 in float32.
LOWEST = -18.0
# For SMALLEST < x <= 0, expm1(x) rounds to x.
SMALLEST = -(2.0**-25)
_HALF = (tf.bfloat16, tf.float16)


def elu_polynomial(x: tf.Tensor, alpha: float = 1.0) -> tf.Tensor:
    """Returns the ELU of `x`, for use inside functions that XLA compiles."""
    if x.dtype in _HALF:
        # The gradient y + alpha needs more digits of y near -1 than half precision has.
        return tf.cast(elu_polynomial(tf.cast(x, tf.float32), alpha), x.dtype)
    return _linked(x, _elu(x, _factor(alpha, x.dtype)), alpha, _times_slope)


def elu_compiled(x: tf.Tensor, alpha: float = 1.0) -> tf.Tensor:
    """Returns the ELU of `x`, with a function compiled by XLA for each pass."""
    if not tf.test.is_built_with_xla():
        raise UsageError(
            "This TensorFlow was built without XLA, which elu_xla needs. Use "
            "elu_zoo.elu, and --compile=off for training."
        )
    if isinstance(x, tf.RaggedTensor):  # XLA has no ragged operations
        return x.with_flat_values(elu_compiled(x.flat_values, alpha))
    if x.dtype in _HALF:
        return tf.cast(elu_compiled(tf.cast(x, tf.float32), alpha), x.dtype)
    if tf.executing_eagerly():
        return _linked_eagerly(x, alpha)
    y = _elu_compiled(x, _factor(alpha, x.dtype))
    return _linked(x, y, alpha, _times_slope_compiled)


def _factor(alpha: float, dtype: tf.DType) -> tf.Tensor | None:
    """Returns alpha as an input of a compiled function; None stands for alpha = 1."""
    return None if alpha == 1 else tf.constant(alpha, dtype)


def _times_slope(dy: tf.Tensor, y: tf.Tensor, alpha: Any) -> tf.Tensor:
    negative = y + (1.0 if alpha is None else alpha)
    return dy * tf.where(y > 0, tf.ones([], y.dtype), negative)


def _times_slope_compiled(dy: tf.Tensor, y: tf.Tensor, alpha: float) -> tf.Tensor:
    return _slope_program(dy, y, _factor(alpha, y.dtype))


def _linked(x: tf.Tensor, y: tf.Tensor, alpha: float, times_slope: Callable) -> tf.Tensor:
    """Returns `y`, the ELU of `x`, with gradients that are computed from `y`."""

    @tf.custom_gradient
    def link(x: tf.Tensor, y: tf.Tensor) -> Any:
        def gradient(dy: tf.Tensor) -> Any:
            # The identities belong to the graph of the gradient. Without the
            # identities a second derivative would refer to tensors of another graph.
            local = link(tf.identity(x), tf.identity(y))
            return times_slope(dy, local, alpha), None

        return tf.identity(y), gradient

    # In a graph, forward mode ignores custom gradients and differentiates the
    # operations of `y`. In eager mode it uses `gradient`, and cannot differentiate `y`.
    return link(x, _unrecorded(y))


def _linked_eagerly(x: tf.Tensor, alpha: float) -> tf.Tensor:
    """Returns the ELU of `x`; a tape keeps the result, but neither `x` nor the rest."""
    y = _elu_compiled(_unrecorded(x), _factor(alpha, x.dtype))
    # `first` is emptied: in a cycle, tensors would live until the garbage collection.
    first, outputs = list[Any](), list[tf.Tensor]()

    @tf.custom_gradient
    def link(x: tf.Tensor) -> Any:
        def gradient(dy: tf.Tensor) -> tf.Tensor:
            # Unlike `y`, an output of `link` has derivatives. Forward mode needs the
            # gradient before the first output exists.
            local = outputs[0] if outputs else first[0](first[1])
            return _times_slope_compiled(dy, local, alpha)

        return y, gradient

    first += [link, x]
    outputs.append(link(x))
    first.clear()
    return outputs[0]


def _unrecorded(x: tf.Tensor) -> tf.Tensor:
    """Returns `x`; in eager mode, tapes do not record what is computed from it."""
    return tf.stop_gradient(x) if tf.executing_eagerly() else x


def _elu(x: tf.Tensor, alpha: tf.Tensor | None) -> tf.Tensor:
    if x.dtype == tf.float32:
        return _forward(x, alpha)
    y = tf.math.expm1(x)
    return tf.where(x > 0, x, y if alpha is None else alpha * y)


def _forward(x: tf.Tensor, alpha: tf.Tensor | None) -> tf.Tensor:
    # exp(x) = 2^n * exp(r). The clamp keeps 2^n a normal number.
    clamped = tf.clip_by_value(x, LOWEST, 0.0)
    n = tf.round(clamped * LOG2_E)
    r = clamped - n * LN2_HIGH - n * LN2_LOW
    polynomial = COEFFICIENTS[-1]
    for coefficient in COEFFICIENTS[-2::-1]:
        polynomial = polynomial * r + coefficient
    p = polynomial * (r * r) + r
    exponent = tf.bitwise.left_shift(tf.cast(n, tf.int32) + 127, 23)
    power = tf.bitcast(exponent, tf.float32)
    y = tf.where(x > SMALLEST, x, power * p + (power - 1.0))
    return y if alpha is None else tf.where(x > 0, x, alpha * y)


# One compiled function for both passes would store three tensors instead of only y.
_compiled = functools.partial(tf.function, jit_compile=True, reduce_retracing=True, autograph=False)
_elu_compiled = _compiled(_elu)
_slope_program = _compiled(_times_slope)
