"""2 x 2 max-pooling on JAX equals Keras' in values and gradients, bit by bit."""

import keras
import numpy as np
import pytest

jax = pytest.importorskip("jax")
from jax import lax  # noqa: E402

from elu_zoo.training.step import jax_pooling  # noqa: E402


def stock(x):
    """Returns what `keras.layers.MaxPooling2D(2, padding="same")` computes on JAX."""
    sizes = (1, 2, 2, 1)
    return lax.reduce_window(x, -np.inf, lax.max, sizes, sizes, "SAME")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(2, 8, 8, 3), (1, 7, 5, 2)])
@pytest.mark.parametrize("ties", [False, True])
def test_values_and_gradients_equal_those_of_xla(shape, dtype, ties):
    draws = np.random.default_rng(0)
    x = draws.integers(-1, 2, shape) if ties else draws.standard_normal(shape)
    x = jax.numpy.asarray(x, dtype)
    values, reverse = jax.vjp(jax.jit(jax_pooling.max_pool), x)
    expected, stock_reverse = jax.vjp(stock, x)
    np.testing.assert_array_equal(values, expected)
    gradient = jax.numpy.asarray(draws.standard_normal(values.shape), dtype)
    np.testing.assert_array_equal(reverse(gradient)[0], stock_reverse(gradient)[0])
    assert values.dtype == reverse(gradient)[0].dtype == dtype


@pytest.mark.parametrize("other", [{}, {"padding": "valid"}, {"pool_size": 3}, {"strides": 1}])
def test_only_equal_layers_are_replaced(other):
    arguments = {"pool_size": 2, "padding": "same", **other}
    assert jax_pooling.replaces(keras.layers.MaxPooling2D(**arguments)) == (not other)
    assert not jax_pooling.replaces(keras.layers.ReLU())
