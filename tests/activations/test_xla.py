"""The ELU for XLA and its derivatives are accurate for all floating-point numbers."""

import weakref

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from exact_elu import SPECIAL, exact, gradients

from elu_zoo.activations import elu, elu_xla, xla
from elu_zoo.activations.xla import elu_polynomial

FUNCTIONS = {
    "compiled": elu_xla,
    "polynomial": elu_polynomial,
    "inside_xla": tf.function(elu_polynomial, jit_compile=True),
    "in_graph": tf.function(elu_xla),
}


def ulps(y, x):
    """Returns the errors of `y` as ELU of `x`, in units in the last place."""
    expected = exact(x)
    magnitude = np.maximum(np.abs(expected).astype(np.float32), np.float32(1e-45))
    return np.abs(y.astype(np.float64) - expected) / np.spacing(magnitude)


# First, last and step of ranges of float32 numbers, as bits.
RANGES = (
    (0x80000000, 0xFF800000, 997),  # all negative numbers
    (0xBC000000, 0xC1900000, 67),  # -2^-7 to -18, computed by the polynomial
    (0xB2FFF000, 0xB3001000, 1),  # near -2^-25, above which the result is x
    (0xC18A0000, 0xC1910000, 1),  # near -17.5, below which the result is -1
)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_float32_is_within_1_ulp(function):
    bits = [np.arange(first, last + 1, step, dtype=np.uint32) for first, last, step in RANGES]
    x = np.concatenate(bits).view(np.float32)
    assert np.max(ulps(function(tf.constant(x)).numpy(), x)) <= 1


@pytest.mark.slow
@pytest.mark.nightly
def test_every_negative_float32_is_within_1_ulp():
    size = 1 << 23
    for first in range(0x80000000, 0xFF800001, size):
        last = min(first + size, 0xFF800001)
        x = np.arange(first, last, dtype=np.uint32).view(np.float32)
        assert np.max(ulps(elu_xla(tf.constant(x)).numpy(), x)) <= 1


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
    rounded = exact(x).astype(dtype)
    np.testing.assert_array_equal(y.numpy().view(np.uint16), rounded.view(np.uint16))


@pytest.mark.parametrize("function", [elu_xla, tf.function(elu_xla), elu_polynomial])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_bfloat16_slopes_are_computed_from_the_input(function, alpha):
    """Outputs near -1 are multiples of 2^-8; slopes computed from them would be too.

    The test omits positive subnormal numbers, because XLA flushes them to zero.
    """
    bits = np.arange(0x10000, dtype=np.uint16)
    x = bits[(bits == 0) | (bits >= 0x80)].view(ml_dtypes.bfloat16)
    first, second = gradients(lambda x: function(x, alpha), x)
    with np.errstate(invalid="ignore"):  # NumPy warns about NaNs
        x64 = x.astype(np.float64)
    curve = np.where(x64 > 0, 0, alpha * np.exp(np.where(x64 > 0, 0, x64)))
    for derivative, slope in ((first, np.where(x64 > 0, 1, curve)), (second, curve)):
        expected = np.where(np.isnan(x64), np.nan, slope)
        assert derivative.dtype == ml_dtypes.bfloat16
        with np.errstate(invalid="ignore"):
            derivative = derivative.astype(np.float64)
        np.testing.assert_allclose(derivative, expected, 2**-8, 1.3e-7)


def test_bfloat16_gradients_are_rounded_once_and_ties_to_even():
    """1.5 * 129 / 128 and 1.5 * 131 / 128 are midway between two bfloat16 numbers."""
    values = np.array([0, 0, -4.0, -2.0, 1.0], ml_dtypes.bfloat16)
    upstream = np.array([129 / 128, 131 / 128, 1.109375, -3.015625, 7], ml_dtypes.bfloat16)
    with tf.GradientTape() as tape:
        x = tf.constant(values)
        tape.watch(x)
        y = elu_xla(x, 1.5)
    gradient = tape.gradient(y, x, tf.constant(upstream)).numpy()
    slope = np.where(values > 0, 1, 1.5 * np.exp(values.astype(np.float64)))
    expected = upstream.astype(np.float64) * slope
    np.testing.assert_array_equal(gradient, expected.astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("alpha", [0.3, 2.5])
def test_values_for_other_alpha_than_1(alpha):
    x = np.linspace(-20, 5, 10_001)
    y = elu_xla(x, alpha)
    np.testing.assert_allclose(y, exact(x, alpha), rtol=1e-12)
    y = elu_xla(x.astype(np.float32), alpha)
    np.testing.assert_allclose(y, exact(x.astype(np.float32), alpha), rtol=2.4e-7)


ALL_FUNCTIONS = {"elu": elu, **FUNCTIONS}


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("function", ALL_FUNCTIONS.values(), ids=ALL_FUNCTIONS)
def test_special_values_are_exact(function, alpha):
    y = function(tf.constant(SPECIAL), alpha).numpy()
    np.testing.assert_array_equal(y, exact(SPECIAL, alpha).astype(np.float32))
    assert np.signbit(y[4]) and not np.signbit(y[3])


@pytest.mark.parametrize("function", [elu_xla, elu_polynomial])
def test_derivatives_of_special_values_are_exact(function):
    first, second = gradients(lambda x: function(x, 0.5), SPECIAL)
    np.testing.assert_array_equal(first, [np.nan, 1, 0, 0.5, 0.5, 0, 1])
    np.testing.assert_array_equal(second, [np.nan, 0, 0, 0.5, 0.5, 0, 0])


@pytest.mark.parametrize("function", [elu, elu_xla, elu_polynomial])
def test_the_third_derivative_is_accurate(function):
    x = np.linspace(-5, 5, 100).astype(np.float32)
    third = gradients(lambda x: function(x, 0.5), x, 3)[-1]
    expected = np.where(x > 0, 0, 0.5 * np.exp(x))
    np.testing.assert_allclose(third, expected, rtol=1e-5, atol=1.2e-7)


def test_an_eager_tape_records_neither_the_input_nor_the_polynomial(monkeypatch):
    results, program = [], xla._elu_compiled

    def recorded(*arguments):
        results.append(program(*arguments))
        return results[-1]

    monkeypatch.setattr(xla, "_elu_compiled", recorded)
    with tf.GradientTape(persistent=True) as tape:
        x = tf.constant([-1.0, 2.0])
        tape.watch(x)
        y = elu_xla(x)
    assert tape.gradient(results[0], x) is None
    np.testing.assert_allclose(tape.gradient(y, x), [np.exp(-1), 1], 1e-6)
    references = [weakref.ref(tensor) for tensor in (x, y)]
    results.clear()
    del x, y, tape
    assert [reference() for reference in references] == [None, None]


def test_alpha_is_an_input_of_the_compiled_functions():
    x = np.array([-1.0, 2.0], np.float32)
    counts = set()
    for alpha in (0.5, 0.7, 2.0):
        first = gradients(lambda x, alpha=alpha: elu_xla(x, alpha), x, 1)[0]
        np.testing.assert_allclose(first, [alpha * np.exp(-1), 1], 1e-6)
        counts.add(xla._elu_compiled.experimental_get_tracing_count())
        counts.add(-xla._slope_program.experimental_get_tracing_count())
    assert len(counts) == 2


def test_ragged_tensors_keep_their_rows():
    rows = tf.ragged.constant([[-1.0, 2.0], [], [-3.0]])
    for alpha in 1.0, 0.5:
        expected = elu(rows, alpha).to_list()
        for row, values in zip(elu_xla(rows, alpha).to_list(), expected, strict=True):
            np.testing.assert_allclose(row, values, rtol=1e-6)
