"""The exponential linear unit as an XLA program on TensorFlow.

XLA computes `expm1` one element at a time on a CPU. The polynomial is as accurate,
and consists of operations that XLA vectorises. Outside of XLA it is slower than
`expm1`, by several times.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

LOG2_E = 1.44269504088896341
# ln 2 in two parts (Cephes): n * LN2_HIGH is exact for the n that occur.
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
# Below this expm1 rounds to -1 in float32.
LOWEST = -18.0
# Above this, and up to 0, expm1(x) rounds to x.
SMALLEST = -(2.0**-25)


def elu_polynomial(x: tf.Tensor, alpha: float = 1.0) -> tf.Tensor:
    """Returns the ELU of `x`, for callers that XLA compiles."""
    return differentiable(x, _elu(x, alpha), alpha)


def elu_compiled(x: tf.Tensor, alpha: float = 1.0) -> tf.Tensor:
    """Returns the ELU of `x`; value and gradient are XLA programs of their own."""
    return differentiable(x, _elu_compiled(x, alpha), alpha, _times_slope_compiled)


def _times_slope(dy: tf.Tensor, y: tf.Tensor, alpha: float) -> tf.Tensor:
    return dy * tf.where(y > 0, tf.ones([], y.dtype), y + alpha)


def differentiable(
    x: tf.Tensor, y: tf.Tensor, alpha: float, times_slope: Callable = _times_slope
) -> tf.Tensor:
    """Returns `y`, the ELU of `x`, with derivatives of every order taken from it."""

    @tf.custom_gradient
    def link(x: tf.Tensor, y: tf.Tensor) -> Any:
        def gradient(dy: tf.Tensor) -> Any:
            # Identities live in the graph that computes the gradient; without
            # them a second derivative would refer to tensors of another graph.
            local = link(tf.identity(x), tf.identity(y))
            return times_slope(dy, local, alpha), None

        return tf.identity(y), gradient

    return link(x, tf.stop_gradient(y))


def _elu(x: tf.Tensor, alpha: float) -> tf.Tensor:
    if x.dtype == tf.float64:
        return tf.where(x > 0, x, alpha * tf.math.expm1(x))
    return tf.cast(_forward(tf.cast(x, tf.float32), alpha), x.dtype)


def _forward(x: tf.Tensor, alpha: float) -> tf.Tensor:
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
    y = power * p + (power - 1.0)
    if alpha == 1:
        return tf.where(x > SMALLEST, x, y)
    y = alpha * tf.where(x > SMALLEST, x, y)
    return tf.where(x > 0, x, y)


# One program for the unit and its gradient would store three tensors where one, y,
# is enough.
_elu_compiled = tf.function(_elu, jit_compile=True, reduce_retracing=True)
_times_slope_compiled = tf.function(
    _times_slope, jit_compile=True, reduce_retracing=True
)
