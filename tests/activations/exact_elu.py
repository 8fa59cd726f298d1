"""Computes the ELU in float64, and derivatives by TensorFlow's gradient tape."""

import numpy as np
import tensorflow as tf

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0, -0.0, -1e30, 3.4e38], np.float32)


def exact(x, alpha=1.0):
    x = np.asarray(x, np.float64)
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x)))


def gradients(function, x, orders=2):
    """Returns the derivatives of orders 1, ..., `orders` at each element."""
    x = tf.constant(x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        values = [function(x)]
        for _ in range(orders):
            values.append(tape.gradient(values[-1], x))
    return [value.numpy() for value in values[1:]]
