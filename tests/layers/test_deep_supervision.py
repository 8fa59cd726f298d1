"""DeepSupervision: what it stacks, and whom the heads teach."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import DeepSupervision


def scores(count=3):
    draws = np.random.default_rng(0).standard_normal((count, 5, 7))
    return list(draws.astype(np.float32))


@pytest.mark.parametrize("active", [True, False])
def test_stacks(active):
    parts = scores()
    found = DeepSupervision(active)(parts)
    shown = parts if active else parts[:1]
    assert tuple(found.shape) == (5, len(shown), 7)
    for i, part in enumerate(shown):
        np.testing.assert_array_equal(found[:, i], part)


@pytest.mark.parametrize("active", [True, False])
def test_gradients(active):
    """Without their heads networks learn from the output alone."""
    parts = [tf.constant(part) for part in scores()]
    with tf.GradientTape() as tape:
        tape.watch(parts)
        loss = tf.reduce_sum(DeepSupervision(active)(parts) ** 2)
    first, *heads = tape.gradient(loss, parts)
    np.testing.assert_allclose(first, 2 * parts[0])
    for head, gradient in zip(parts[1:], heads, strict=True):
        np.testing.assert_allclose(gradient, 2 * head if active else 0 * head)


@pytest.mark.parametrize(("active", "count"), [(True, 4), (False, 1)])
def test_symbolic_shape(active, count):
    inputs = [keras.Input((10,)) for _ in range(4)]
    assert DeepSupervision(active)(inputs).shape == (None, count, 10)


def test_heads_of_a_network_are_dropped():
    inputs = [keras.Input((10,)) for _ in range(4)]
    model = keras.Model(inputs, DeepSupervision(name="heads")(inputs))
    given = [np.full((2, 10), i, "float32") for i in range(4)]
    assert model(given).shape == (2, 4, 10)
    model.get_layer("heads").active = False
    np.testing.assert_array_equal(model(given), np.zeros((2, 1, 10)))


@pytest.mark.parametrize("active", [True, False])
def test_config(active):
    layer = DeepSupervision(active, name="heads")
    again = DeepSupervision.from_config(layer.get_config())
    assert (again.name, again.active) == ("heads", active)
    layer.active = not active
    assert layer.get_config()["active"] == (not active)


@pytest.mark.parametrize("active", [1, None, "no"])
def test_refused(active):
    with pytest.raises(errors.UsageError, match=f"True or False. Received: {active!r}"):
        DeepSupervision(active)
