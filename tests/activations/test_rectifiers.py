"""Rectifiers with fixed, learned and random slopes, held against their formulas."""

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.activations.rectifiers import LeakyReLU, PReLU, RReLU, ShiftedReLU, VeryLeakyReLU

X = np.array([[-np.inf, -30, -2, -0.5, -0.0, 0, 0.5, 4, np.inf, np.nan]], np.float32)
# (layer, its formula at inference)
CASES = [
    (LeakyReLU(), lambda x: np.where(x > 0, x, 0.1 * x)),
    (LeakyReLU(0.5), lambda x: np.where(x > 0, x, 0.5 * x)),
    (VeryLeakyReLU(), lambda x: np.where(x > 0, x, x / 3)),
    (VeryLeakyReLU(0.5), lambda x: np.where(x > 0, x, 0.5 * x)),
    (ShiftedReLU(), lambda x: np.maximum(x, -1)),
    (PReLU(), lambda x: np.where(x > 0, x, 0.25 * x)),
    (RReLU(), lambda x: np.where(x > 0, x, 11 / 48 * x)),
    (RReLU(0.1, 0.3), lambda x: np.where(x > 0, x, 0.2 * x)),
]


@pytest.mark.parametrize("layer, reference", CASES)
def test_values_equal_the_formula(layer, reference):
    y = layer(X)
    np.testing.assert_allclose(y, reference(X), rtol=1e-6)
    np.testing.assert_allclose(tf.function(layer)(X), y)
    assert layer.compute_output_shape(X.shape) == X.shape


@pytest.mark.parametrize("layer", [ShiftedReLU(), PReLU(), RReLU(0.2, 0.3)])
def test_integers_are_cast(layer):
    ((negative, positive),) = np.asarray(layer(np.array([[-4, 3]]), training=True))
    assert -1.2 <= negative <= -0.8 and positive == 3


@pytest.mark.parametrize("shape", [(2, 5), (2, 3, 4, 5)])
def test_prelu_has_one_slope_for_each_channel(shape):
    layer = PReLU()
    x = -np.ones(shape, np.float32)
    with tf.GradientTape() as tape:
        y = layer(x)
    assert [w.shape for w in layer.trainable_weights] == [(5,)]
    elements = np.prod(shape) / 5
    np.testing.assert_allclose(tape.gradient(y, layer.slope.value), np.full(5, -elements))
    layer.slope.assign([1, 2, 3, 4, 5])
    np.testing.assert_array_equal(layer(x)[..., 2], x[..., 2] * 3)


def test_prelu_gradients_are_finite():
    layer = PReLU()
    x = tf.constant([[np.inf], [3.4e38], [0.0], [-2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x)
    dx, dslope = tape.gradient(y, [x, layer.slope.value])
    np.testing.assert_array_equal(dx, [[1], [1], [0.25], [0.25]])
    np.testing.assert_array_equal(dslope, [-2])


@pytest.mark.parametrize("shape", [(3,), (3, None)])
def test_prelu_needs_a_known_number_of_channels(shape):
    with pytest.raises(errors.UsageError, match="known number of channels"):
        PReLU().build(shape)


def test_rrelu_draws_a_slope_for_each_element():
    layer, x = RReLU(seed=3), -np.ones([100, 200], np.float32)
    first, second = (-np.asarray(layer(x, training=True)) for _ in range(2))
    assert 1 / 8 <= first.min() < 0.126 and 0.332 < first.max() <= 1 / 3
    np.testing.assert_allclose(first.mean(), 11 / 48, atol=2e-3)
    assert not np.array_equal(first, second)
    same_seed = -np.asarray(RReLU(seed=3)(x, training=True))
    np.testing.assert_array_equal(same_seed, first)
    np.testing.assert_array_equal(layer(-x, training=True), -x)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: RReLU(lower=0), "lower must be a finite number > 0"),
        (lambda: RReLU(0.2, 0.2), "lower < upper"),
        (lambda: LeakyReLU(-0.1), "alpha must be a finite number > 0"),
    ],
)
def test_invalid_arguments_are_refused(make, message):
    with pytest.raises(errors.UsageError, match=message):
        make()
