"""The activations run on the JAX backend, in a process without TensorFlow."""

import importlib.util
import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules["tensorflow"] = None  # `import tensorflow` now raises an error

import jax, keras, numpy as np, pytest
from elu_zoo import errors
from elu_zoo.activations import ELU, elu, elu_xla, form
from elu_zoo.activations.rectifiers import LeakyReLU, RReLU, ShiftedReLU
from elu_zoo.layers import Maxout

assert keras.backend.backend() == "jax"
x = np.linspace(-20, 5, 1001).astype(np.float32)
special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, -1e30, 3.4e38], np.float32)

for alpha in (0.5, 1.0):
    f = lambda v: elu(v, alpha)
    exact = np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0).astype(np.float64)))
    curve = np.where(x > 0, 0, alpha * np.exp(x.astype(np.float64)))
    first, second = jax.grad(f), jax.grad(jax.grad(f))
    np.testing.assert_allclose(f(x), exact, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(f)(x), exact, rtol=1e-6)
    np.testing.assert_allclose(
        jax.jit(jax.vmap(first))(x), np.where(x > 0, 1, curve), rtol=1e-5, atol=2e-7)
    np.testing.assert_allclose(
        jax.jit(jax.vmap(second))(x), curve, rtol=1e-5, atol=2e-7)
    y = np.asarray(jax.jit(f)(special))
    np.testing.assert_array_equal(
        y, [np.nan, np.inf, -alpha, 0, 0, -alpha, np.float32(3.4e38)])
    assert np.signbit(y[4])
    np.testing.assert_array_equal(
        jax.jit(jax.vmap(first))(special), [np.nan, 1, 0, alpha, alpha, 0, 1])
    np.testing.assert_array_equal(
        jax.jit(jax.vmap(second))(special), [np.nan, 0, 0, alpha, alpha, 0, 0])
    np.testing.assert_allclose(
        jax.vmap(jax.jacfwd(f))(x), np.where(x > 0, 1, curve), rtol=1e-5, atol=2e-7)

for dtype in ("float16", "bfloat16"):
    y = elu(keras.ops.cast(x, dtype))
    assert y.dtype == dtype
    np.testing.assert_allclose(
        keras.ops.cast(y, "float32"), elu(x), atol=1e-2, rtol=1e-2)
    # The slope is rounded once: half a unit in the last place of 8 or 11 bits.
    slope = jax.jit(jax.vmap(jax.grad(elu)))(keras.ops.cast(x, dtype))
    assert slope.dtype == dtype
    rounded = np.asarray(keras.ops.cast(x, dtype), np.float64)
    exact = np.where(rounded > 0, 1, np.exp(np.minimum(rounded, 0)))
    unit = 2.0**-9 if dtype == "bfloat16" else 2.0**-12
    np.testing.assert_allclose(
        np.asarray(slope, np.float64), exact, rtol=1.01 * 2 * unit, atol=1e-7)

from elu_zoo.activations import jax_elu
assert jax_elu.elu.lower(x, 1.0)  # compiled, also outside of jit
at_0 = np.zeros(1, np.float32)
assert jax.grad(lambda v: LeakyReLU(0.25)(v)[0])(at_0) == 0.25
assert jax.grad(lambda v: RReLU(0.25, 0.75)(v)[0])(at_0) == 0.5
assert jax.grad(lambda v: ShiftedReLU()(v)[0])(at_0 - 1) == 1
equal = np.zeros((1, 3), np.float32)
np.testing.assert_array_equal(jax.grad(lambda v: Maxout(3)(v)[0, 0])(equal), [[1, 0, 0]])
assert np.isnan(Maxout(3)(np.float32([[np.nan, 1, 2], [1, np.nan, 2], [1, 2, np.nan]]))).all()

with pytest.raises(errors.UsageError, match="needs the TensorFlow backend"):
    elu_xla(x)

with form("polynomial"):
    np.testing.assert_array_equal(ELU(jit_compile=True)(x), elu(x))

assert sys.modules["tensorflow"] is None
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_activations_run_on_jax_without_tensorflow():
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
