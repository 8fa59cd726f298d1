"""The XLA op: accuracy over all floats, derivatives of every order."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.activations import elu_xla
from elu_zoo.activations.xla import elu_polynomial

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0, -0.0, -1e30, 3.4e38], np.float32)
FUNCTIONS = {
    "compiled": elu_xla,
    "polynomial": elu_polynomial,
    "inside_xla": tf.function(elu_polynomial, jit_compile=True),
    "nested": tf.function(elu_xla),
}


def reference(x, alpha=1.0):
    x = np.asarray(x, np.float64)
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x)))


def ulp(y, x):
    """Returns the errors of `y` in units in the last place of float32."""
    exact = reference(x)
    magnitude = np.maximum(np.abs(exact).astype(np.float32), np.float32(1e-45))
    return np.abs(y.astype(np.float64) - exact) / np.spacing(magnitude)


def gradients(function, x, orders=2):
    x = tf.constant(x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        values = [function(x)]
        for _ in range(orders):
            values.append(tape.gradient(values[-1], x))
    return [value.numpy() for value in values[1:]]


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize(
    "first, last, step",
    [
        (0x80000000, 0xFF800000, 997),  # all negative floats
        (0xBC000000, 0xC1900000, 67),  # -2^-7 to -18: where the polynomial acts
        (0xB2FFF000, 0xB3001000, 1),  # around -2^-25: the selection
        (0xC18A0000, 0xC1910000, 1),  # around -17.5: the saturation
    ],
)
def test_float32_is_within_1_ulp(function, first, last, step):
    x = np.arange(first, last + 1, step, dtype=np.uint32).view(np.float32)
    assert np.max(ulp(function(tf.constant(x)).numpy(), x)) <= 1


@pytest.mark.slow
def test_every_negative_float32_is_within_1_ulp():
    size = 1 << 23
    for first in range(0x80000000, 0xFF800001, size):
        last = min(first + size, 0xFF800001)
        x = np.arange(first, last, dtype=np.uint32).view(np.float32)
        assert np.max(ulp(elu_xla(tf.constant(x)).numpy(), x)) <= 1


@pytest.mark.parametrize("function", [elu_xla, elu_polynomial])
def test_subnormals_and_zeros_are_exact(function):
    bits = np.arange(0, 0x00800000, 499, dtype=np.uint32)
    for sign in (0, 0x80000000):
        y = function(tf.constant((bits | sign).view(np.float32))).numpy()
        np.testing.assert_array_equal(y.view(np.uint32), bits | sign)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_correctly_rounded(dtype):
    last = np.array(np.inf, dtype).view(np.uint16)
    bits = np.arange(last + 1, dtype=np.uint16)
    x = np.concatenate([bits, bits | np.uint16(0x8000)]).view(dtype)
    y = elu_xla(tf.constant(x))
    assert y.dtype == dtype
    rounded = reference(x).astype(dtype)
    np.testing.assert_array_equal(y.numpy().view(np.uint16), rounded.view(np.uint16))


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("function", [elu_xla, tf.function(elu_xla)])
def test_bfloat16_slopes_are_of_the_input(function, alpha):
    """Those of the rounded output would be multiples of 2^-8 near saturation.

    Positive numbers without an exponent are left out: to XLA they are zero.
    """
    bits = np.arange(0x10000, dtype=np.uint16)
    x = bits[(bits == 0) | (bits >= 0x80)].view(ml_dtypes.bfloat16)
    first, second = gradients(lambda x: function(x, alpha), x)
    with np.errstate(invalid="ignore"):  # of the NaNs
        wide = x.astype(np.float64)
    curve = np.where(wide > 0, 0, alpha * np.exp(np.where(wide > 0, 0, wide)))
    for found, exact in ((first, np.where(wide > 0, 1, curve)), (second, curve)):
        exact = np.where(np.isnan(wide), np.nan, exact)
        assert found.dtype == ml_dtypes.bfloat16
        with np.errstate(invalid="ignore"):
            found = found.astype(np.float64)
        np.testing.assert_allclose(found, exact, 2**-8, 1.3e-7)


def test_bfloat16_products_round_once():
    x = np.array([-4.0, -2.0, 1.0], ml_dtypes.bfloat16)
    upstream = np.array([1.109375, -3.015625, 7.0], ml_dtypes.bfloat16)
    with tf.GradientTape() as tape:
        given = tf.constant(x)
        tape.watch(given)
        y = elu_xla(given)
    found = tape.gradient(y, given, tf.constant(upstream)).numpy()
    exact = upstream.astype(np.float64) * np.exp(np.minimum(x.astype(np.float64), 0))
    np.testing.assert_array_equal(found, exact.astype(ml_dtypes.bfloat16))


def test_bfloat16_ties_go_to_even():
    """1.5 * 129 / 128 and 1.5 * 131 / 128 lie halfway between two numbers."""
    upstream = np.array([129 / 128, 131 / 128], ml_dtypes.bfloat16)
    with tf.GradientTape() as tape:
        given = tf.zeros(2, tf.bfloat16)
        tape.watch(given)
        y = elu_xla(given, 1.5)
    found = tape.gradient(y, given, tf.constant(upstream)).numpy()
    np.testing.assert_array_equal(found.astype(float), [194 / 128, 196 / 128])


def test_every_bfloat16_nan_stays_one():
    bits = np.concatenate([np.arange(0x7F81, 0x8000), np.arange(0xFF81, 0x10000)])
    x = tf.constant(bits.astype(np.uint16).view(ml_dtypes.bfloat16))
    with np.errstate(invalid="ignore"):
        assert np.isnan(elu_xla(x).numpy().astype(np.float32)).all()


@pytest.mark.parametrize("alpha", [0.3, 2.5])
def test_alpha(alpha):
    x = np.linspace(-20, 5, 10_001)
    y = elu_xla(x, alpha)
    np.testing.assert_allclose(y, reference(x, alpha), rtol=1e-12)
    y = elu_xla(x.astype(np.float32), alpha)
    np.testing.assert_allclose(y, reference(x.astype(np.float32), alpha), rtol=2.4e-7)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_special_values(function, alpha):
    y = function(tf.constant(SPECIAL), alpha).numpy()
    np.testing.assert_array_equal(y, reference(SPECIAL, alpha).astype(np.float32))
    assert np.signbit(y[4]) and not np.signbit(y[3])


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_derivatives(function, alpha):
    x = np.linspace(-5, 5, 100).astype(np.float32)
    curve = np.where(x > 0, 0, alpha * np.exp(x))
    for derivative, exact in zip(
        gradients(lambda x: function(x, alpha), x, 3),
        [np.where(x > 0, 1, curve), curve, curve],
        strict=True,
    ):
        np.testing.assert_allclose(derivative, exact, rtol=1e-5, atol=1.2e-7)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_derivatives_of_special_values(function, alpha):
    first, second = gradients(lambda x: function(x, alpha), SPECIAL)
    np.testing.assert_array_equal(first, [np.nan, 1, 0, alpha, alpha, 0, 1])
    np.testing.assert_array_equal(second, [np.nan, 0, 0, alpha, alpha, 0, 0])


def test_in_a_network_with_variables():
    weight = tf.Variable([[-0.5, 0.5]])
    with tf.GradientTape() as tape:
        y = elu_xla(tf.constant([[1.0]]) @ weight)
    np.testing.assert_allclose(tape.gradient(y, weight), [[np.exp(-0.5), 1]], rtol=1e-6)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 2, 3, 4)])
def test_shapes(shape):
    assert elu_xla(tf.ones(shape)).shape == shape


def test_lists_and_integers():
    np.testing.assert_allclose(elu_xla([-1, 2]), reference([-1, 2]), rtol=1e-6)
