"""Highway, Maxout and DeepSupervision return what NumPy computes."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from distinct_values import noise

from elu_zoo.layers import DeepSupervision, Dropout, FeatureMapDropout, Highway, Maxout


def gated(transformed, gate, carried):
    opened = 1 / (1 + np.exp(-np.asarray(gate, np.float64)))
    return opened * transformed + (1 - opened) * carried


def parts_of(*shape):
    """Returns three arrays of random numbers: transformed, gate and carried."""
    return list(np.random.default_rng(0).normal(0, 3, (3, *shape)).astype(np.float32))


@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 4, 5), (1,)])
def test_highway_equals_the_formula(shape):
    parts, layer = parts_of(*shape), Highway()
    for inputs in (parts, tuple(parts)):
        np.testing.assert_allclose(layer(inputs), gated(*parts), 1e-5, 1e-6)
    assert layer.compute_output_shape([shape] * 3) == shape
    assert layer([keras.Input(shape[1:])] * 3).shape == (None, *shape[1:])


def test_a_gate_opens_and_closes():
    transformed, _, carried = parts_of(6)
    gate = np.array([100, -100, 0, 1e30, -1e30, np.inf], np.float32)
    outputs = np.asarray(Highway()([transformed, gate, carried]))
    np.testing.assert_array_equal(outputs[[0, 3, 5]], transformed[[0, 3, 5]])
    np.testing.assert_allclose(outputs[[1, 4]], carried[[1, 4]], rtol=1e-6)
    np.testing.assert_allclose(outputs[2], (transformed[2] + carried[2]) / 2, rtol=1e-6)


def largest(x, pieces):
    units = x.shape[-1] // pieces
    result = np.empty((*x.shape[:-1], units), x.dtype)
    for index in np.ndindex(result.shape):
        *outer, unit = index
        result[index] = max(x[(*outer, unit * pieces + j)] for j in range(pieces))
    return result


@pytest.mark.parametrize("pieces", [1, 3, 12])
@pytest.mark.parametrize("shape", [(3, 12), (2, 3, 4, 12)])
def test_maxout_equals_a_loop_over_units(pieces, shape):
    x, layer = noise(*shape), Maxout(pieces)
    expected = largest(x, pieces)
    np.testing.assert_array_equal(layer(x), expected)
    assert layer.compute_output_shape(shape) == expected.shape
    assert layer(keras.Input(shape[1:])).shape == (None, *expected.shape[1:])


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("piece", [0, 1])
def test_a_piece_that_is_nan_or_infinite_is_the_output(value, piece):
    x = np.array([[-3, -2]], np.float32)
    x[0, piece] = value
    np.testing.assert_array_equal(Maxout(2)(x), [[value]])


@pytest.mark.parametrize("active", [True, False])
def test_inactive_heads_have_no_scores_and_no_gradients(active):
    draws = np.random.default_rng(0).standard_normal((3, 5, 7)).astype(np.float32)
    parts = [tf.constant(part) for part in draws]
    with tf.GradientTape() as tape:
        tape.watch(parts)
        scores = DeepSupervision(active)(parts)
        loss = tf.reduce_sum(scores**2)
    np.testing.assert_array_equal(scores, np.stack(draws if active else draws[:1], 1))
    first, *heads = tape.gradient(loss, parts)
    np.testing.assert_allclose(first, 2 * parts[0])
    for head, gradient in zip(parts[1:], heads, strict=True):
        np.testing.assert_allclose(gradient, 2 * head if active else 0 * head)


def test_the_heads_of_a_model_can_be_deactivated():
    inputs = [keras.Input((10,)) for _ in range(4)]
    layer = DeepSupervision()
    model = keras.Model(inputs, layer(inputs))
    scores = [np.full((2, 10), i, "float32") for i in range(4)]
    assert model(scores).shape == (2, 4, 10)
    layer.active = False
    np.testing.assert_array_equal(model(scores), np.zeros((2, 1, 10)))


def test_layers_keep_the_mask():
    x = keras.layers.Masking()(np.array([[[1, 2], [3, 5], [0, 0]]], "float32"))
    dropouts = Dropout(0.5, 0)(x), FeatureMapDropout(0.5, 0)(x)
    for y in (Highway()([x] * 3), Maxout()(x), *dropouts):
        mean = keras.layers.GlobalAveragePooling1D()(y)
        np.testing.assert_allclose(mean, np.asarray(y)[:, :2].mean(1), 1e-6)
