import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.training import losses

LOSS = losses.get("softmax_cross_entropy")


def reference(labels, logits):
    logits = logits.astype(np.float64)
    highest = logits.max(1)
    log_sum = highest + np.log(np.exp(logits - highest[:, None]).sum(1))
    return log_sum - logits[np.arange(len(labels)), labels]


@pytest.mark.parametrize("scale", [0, 1e-3, 1, 30, 1e4, 1e30])
def test_equals_float64(scale):
    generator = np.random.default_rng(0)
    logits = (generator.normal(size=(64, 10)) * scale).astype(np.float32)
    labels = generator.integers(0, 10, 64).astype(np.int32)
    values = np.asarray(LOSS(labels, logits))
    assert values.shape == (64,)
    np.testing.assert_allclose(values, reference(labels, logits), 2e-6, 2e-6)


@pytest.mark.parametrize(
    "logits, label, expected",
    [
        ([0, 0], 1, np.log(2)),
        ([1e4, 0], 0, 0),
        ([1e4, 0], 1, 1e4),
        ([-1e30, 1e30], 0, 2e30),
        ([3e38, 3e38], 0, np.log(2)),
    ],
)
def test_known_values(logits, label, expected):
    value = np.asarray(LOSS(np.array([label]), np.array([logits], np.float32)))
    np.testing.assert_allclose(value, [expected], 1e-6)


@pytest.mark.parametrize("scale", [1, 1e4, 1e30])
def test_gradient_is_softmax_minus_label(scale):
    generator = np.random.default_rng(1)
    logits = (generator.normal(size=(16, 5)) * scale).astype(np.float32)
    labels = generator.integers(0, 5, 16).astype(np.int32)
    with tf.GradientTape() as tape:
        x = tf.constant(logits)
        tape.watch(x)
        loss = tf.reduce_sum(LOSS(labels, x))
    shifted = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    expected = shifted / shifted.sum(1, keepdims=True) - np.eye(5)[labels]
    np.testing.assert_allclose(tape.gradient(loss, x), expected, 1e-5, 1e-6)


def test_unknown_name():
    with pytest.raises(errors.UsageError, match="Did you mean 'softmax_cross_entropy'"):
        losses.get("softmax_crossentropy")
