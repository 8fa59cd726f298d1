"""DeepSupervision stacks the scores of the heads and can stop their gradients."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.layers import DeepSupervision


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
    assert not DeepSupervision.from_config(layer.get_config()).active
