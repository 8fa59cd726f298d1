"""Losses and their gradients, compared with NumPy in float64."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors, registry
from elu_zoo.evaluation import loss

SHAPE = (16, 4, 3, 2)


def eager_gradient(name, targets, outputs):
    x = tf.constant(outputs)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(loss.get(name).function(targets, x))
    return tape.gradient(total, x).numpy()


def compiled_gradient(name, targets, outputs):
    """Returns the gradient that XLA computes, in another order of operations."""
    return tf.function(
        lambda x: tf.gradients(loss.get(name).function(targets, x), x)[0], jit_compile=True
    )(tf.constant(outputs)).numpy()


GRADIENTS = [eager_gradient, compiled_gradient]
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


@pytest.mark.parametrize("scale", [0, 1e-3, 1, 30, 1e4, 1e30])
@pytest.mark.parametrize("name", REFERENCES)
def test_losses_of_images_equal_float64(name, scale):
    generator = np.random.default_rng(0)
    targets = draw_targets(generator)
    if name == "half_squared_error":
        scale = min(scale, 1e15)  # squares of larger outputs overflow float32
    outputs = (generator.normal(size=SHAPE) * scale).astype(np.float32)
    values = np.asarray(loss.get(name).function(targets, outputs))
    assert values.shape == (SHAPE[0],) and values.dtype == np.float32
    expected = REFERENCES[name](targets.astype(np.float64), outputs.astype(np.float64))
    expected = expected.reshape(SHAPE[0], -1).sum(1)
    np.testing.assert_allclose(values, expected, 2e-6, 2e-6)


@pytest.mark.parametrize(
    ("logits", "label", "expected"),
    [
        ([0, 0], 1, np.log(2)),
        ([1e4, 0], 0, 0),
        ([1e4, 0], 1, 1e4),
        ([-1e30, 1e30], 0, 2e30),
        ([3e38, 3e38], 0, np.log(2)),
    ],
)
def test_softmax_cross_entropy_has_known_values(logits, label, expected):
    logits = np.array([logits], np.float32)
    value = np.asarray(loss.softmax_cross_entropy(np.array([label]), logits))
    np.testing.assert_allclose(value, [expected], 1e-6)


@pytest.mark.parametrize(
    ("name", "target", "output", "expected"),
    [
        ("sigmoid_cross_entropy", 0, 0, np.log(2)),
        ("sigmoid_cross_entropy", 0.3, -0.0, np.log(2)),
        ("sigmoid_cross_entropy", 1, 100, 0),
        ("sigmoid_cross_entropy", 0, 100, 100),
        ("sigmoid_cross_entropy", 1, -100, 100),
        ("sigmoid_cross_entropy", 0, -100, 0),
        ("sigmoid_cross_entropy", 0.25, 100, 75),
        ("sigmoid_cross_entropy", 0.25, -100, 25),
        ("sigmoid_cross_entropy", 1, -3e38, 3e38),
        ("sigmoid_cross_entropy", 1, 10, np.exp(-10) - np.exp(-20) / 2),
        ("half_squared_error", 1, 1, 0),
        ("half_squared_error", 0.5, -100, 100.5**2 / 2),
        ("half_squared_error", 0.5, 100, 99.5**2 / 2),
    ],
)
def test_losses_of_images_are_sums_of_known_values(name, target, output, expected):
    function = loss.get(name).function
    pixel = np.full((1, 1, 1, 1), target, np.float32), np.float32([[[[output]]]])
    np.testing.assert_allclose(np.asarray(function(*pixel)), [expected], 1e-6, 1e-37)
    if expected < 1e30:
        images = [np.tile(x, (2, 28, 28, 1)) for x in pixel]
        losses = np.asarray(function(*images))
        np.testing.assert_allclose(losses, [784 * expected] * 2, 1e-5, 1e-37)


@pytest.mark.parametrize("scale", [1, 1e4, 1e30])
def test_softmax_gradient_is_probability_minus_label(scale):
    generator = np.random.default_rng(1)
    logits = (generator.normal(size=(16, 5)) * scale).astype(np.float32)
    labels = generator.integers(0, 5, 16).astype(np.int32)
    shifted = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    expected = shifted / shifted.sum(1, keepdims=True) - np.eye(5)[labels]
    gradient = eager_gradient("softmax_cross_entropy", labels, logits)
    np.testing.assert_allclose(gradient, expected, 1e-5, 1e-6)


@pytest.mark.parametrize("compute", GRADIENTS)
@pytest.mark.parametrize("scale", [1e-6, 1, 30, 1e4])
def test_sigmoid_gradient_is_sigmoid_minus_target(compute, scale):
    generator = np.random.default_rng(1)
    targets = draw_targets(generator)
    logits = (generator.normal(size=SHAPE) * scale).astype(np.float32)
    expected = np.exp(-np.logaddexp(0, -logits.astype(np.float64))) - targets
    gradient = compute("sigmoid_cross_entropy", targets, logits)
    np.testing.assert_allclose(gradient, expected, 1e-5, 1e-6)


@pytest.mark.parametrize("compute", GRADIENTS)
@pytest.mark.parametrize("logit", [0.0, -0.0, 100.0, -100.0])
@pytest.mark.parametrize("target", [0.0, 0.25, 0.5, 1.0])
def test_sigmoid_gradient_is_exact_at_zero_and_at_large_logits(compute, logit, target):
    arrays = (np.full(SHAPE, value, np.float32) for value in (target, logit))
    gradient = compute("sigmoid_cross_entropy", *arrays)
    expected = {0.0: 0.5, 100.0: 1.0, -100.0: 0.0}[logit] - target
    np.testing.assert_allclose(gradient, np.full(SHAPE, expected), 0, 1e-7)


@pytest.mark.parametrize("compute", GRADIENTS)
def test_squared_error_gradient_is_output_minus_target(compute):
    generator = np.random.default_rng(1)
    targets = draw_targets(generator)
    outputs = generator.normal(size=SHAPE).astype(np.float32)
    gradient = compute("half_squared_error", targets, outputs)
    np.testing.assert_allclose(gradient, outputs - targets, 1e-6, 1e-7)


def test_squared_hinge_and_its_gradient_equal_float64():
    scores = np.random.default_rng(2).normal(0, 1.5, (6, 4)).astype(np.float32)
    labels = np.array([0, 1, 2, 3, 0, 3], np.int32)
    expected = [
        sum(max(0, 1 - (1 if j == label else -1) * row[j]) ** 2 for j in range(4))
        for row, label in zip(scores.astype(np.float64), labels, strict=True)
    ]
    variable = tf.Variable(scores)
    with tf.GradientTape() as tape:
        losses = loss.squared_hinge(labels, variable)
    np.testing.assert_allclose(losses, expected, 1e-6)
    signs = np.where(np.arange(4) == labels[:, None], 1, -1)
    gradient = -2 * signs * np.maximum(0, 1 - signs * scores)
    np.testing.assert_allclose(tape.gradient(losses, variable), gradient, 1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["sigmoid_cross_entropy", "half_squared_error"])
def test_outputs_that_are_not_finite_give_losses_that_are_not_finite(name, bad):
    outputs = np.zeros(SHAPE, np.float32)
    outputs[3, 0, 0, 0] = bad
    values = loss.get(name).function(tf.zeros(SHAPE), tf.constant(outputs))
    assert np.flatnonzero(~np.isfinite(values)).tolist() == [3]


def test_every_loss_has_a_readout_that_keras_knows():
    assert registry.READOUTS.keys() == loss.LOSSES.keys()
    for name in registry.READOUTS.values():
        assert callable(keras.activations.get(name))


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("softmax_crossentropy", "softmax_cross_entropy"),
        ("squared_error", "half_squared_error"),
    ],
)
def test_unknown_name_suggests_the_nearest(name, suggestion):
    with pytest.raises(errors.UsageError, match=f"Did you mean '{suggestion}'"):
        loss.get(name)
