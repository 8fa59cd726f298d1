"""Losses and their gradients, compared with NumPy in float64."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import registry
from elu_zoo.evaluation import loss

SHAPE = (16, 4, 3, 2)


def gradients(name, targets, outputs):
    """Returns the eager gradient, and that of XLA, in another order of operations."""

    def compute(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(loss.LOSSES[name].function(targets, x))
        return tape.gradient(total, x)

    x = tf.constant(outputs)
    return compute(x), tf.function(compute, jit_compile=True)(x)


REFERENCES = {
    # -t log s(z) - (1 - t) log(1 - s(z)) with the sigmoid s(z) = 1 / (1 + exp(-z))
    "sigmoid_cross_entropy": lambda t, z: t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z),
    "half_squared_error": lambda t, y: (y - t) ** 2 / 2,
}


def draw_targets(generator):
    """Returns pixels in [0, 1]; some are exactly 0 or 1."""
    values = generator.uniform(-0.3, 1.3, SHAPE).clip(0, 1).astype(np.float32)
    assert {0, 1} < set(values.ravel())
    return values


@pytest.mark.parametrize("scale", [0, 1, 30, 1e30])
@pytest.mark.parametrize("name", REFERENCES)
def test_losses_of_images_equal_float64(name, scale):
    generator = np.random.default_rng(0)
    targets = draw_targets(generator)
    if name == "half_squared_error":
        scale = min(scale, 1e15)  # squares of larger outputs overflow float32
    outputs = (generator.normal(size=SHAPE) * scale).astype(np.float32)
    values = np.asarray(loss.LOSSES[name].function(targets, outputs))
    assert values.shape == (SHAPE[0],) and values.dtype == np.float32
    expected = REFERENCES[name](targets.astype(np.float64), outputs.astype(np.float64))
    expected = expected.reshape(SHAPE[0], -1).sum(1)
    np.testing.assert_allclose(values, expected, 2e-6, 2e-6)


@pytest.mark.parametrize("scale", [1e-6, 1, 1e4])
def test_gradients_of_images_are_readout_minus_target(scale):
    generator = np.random.default_rng(1)
    targets = draw_targets(generator)
    outputs = (generator.normal(size=SHAPE) * scale).astype(np.float32)
    readouts = {
        "sigmoid_cross_entropy": np.exp(-np.logaddexp(0, -outputs.astype(np.float64))),
        "half_squared_error": outputs,
    }
    for name, readout in readouts.items():
        for gradient in gradients(name, targets, outputs):
            np.testing.assert_allclose(gradient, readout - targets, 1e-5, 1e-6)


@pytest.mark.parametrize("logit", [0.0, -0.0, 100.0, -100.0])
def test_sigmoid_gradient_is_exact_at_zero_and_at_large_logits(logit):
    targets = np.tile(np.float32([0, 0.25, 0.5, 1]), (1, 1, 1, 1))
    expected = {0.0: 0.5, 100.0: 1.0, -100.0: 0.0}[logit] - targets
    for gradient in gradients("sigmoid_cross_entropy", targets, np.full_like(targets, logit)):
        np.testing.assert_allclose(gradient, expected, 0, 1e-7)


def test_squared_hinge_and_its_gradient_equal_float64():
    scores = np.random.default_rng(2).normal(0, 1.5, (6, 4)).astype(np.float32)
    labels = np.array([0, 1, 2, 3, 0, 3], np.int32)
    signs = np.where(np.arange(4) == labels[:, None], 1, -1)
    margins = np.maximum(0, 1 - signs * scores.astype(np.float64))
    np.testing.assert_allclose(loss.squared_hinge(labels, scores), (margins**2).sum(1), 1e-6)
    gradient, _ = gradients("squared_hinge", labels, scores)
    np.testing.assert_allclose(gradient, -2 * signs * margins, 1e-5)


@pytest.mark.parametrize("name", ["sigmoid_cross_entropy", "half_squared_error"])
def test_outputs_that_are_not_finite_give_losses_that_are_not_finite(name):
    outputs = np.zeros(SHAPE, np.float32)
    outputs[3, 0, 0, 0], outputs[5, 0, 0, 0] = np.nan, np.inf
    values = loss.LOSSES[name].function(tf.zeros(SHAPE), tf.constant(outputs))
    assert np.flatnonzero(~np.isfinite(values)).tolist() == [3, 5]


def test_every_loss_has_a_readout_that_keras_knows():
    assert registry.OUTPUT_ACTIVATION.keys() == loss.LOSSES.keys()
    for name in registry.OUTPUT_ACTIVATION.values():
        assert callable(keras.activations.get(name))
