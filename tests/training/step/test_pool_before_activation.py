"""`pool_before_activation` moves max-pooling before activations, which makes training faster."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import ELU, zoo
from elu_zoo.training.step import precision
from elu_zoo.training.step.pool_before_activation import pool_before_activation

MONOTONIC = ("elu", "relu", "leaky_relu", "shifted_relu", {"name": "elu", "alpha": 2.0})


def build(activation="elu", **arguments):
    small = {"width": 0.05, "num_classes": 4, "seed": 3, "dropout": [0.3] * 7}
    return zoo.get_model(
        "elu_cifar_11", activation=activation, preprocessing=False, **small, **arguments
    )


@pytest.fixture
def images():
    return np.random.default_rng(0).normal(0, 1, (6, 32, 32, 3)).astype("float32")


def names(model):
    return [layer.name for layer in model.layers]


def losses_and_gradients(model, images):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(images, training=True) ** 2) + sum(model.losses)
    return loss, tape.gradient(loss, [v.value for v in model.trainable_variables])


@pytest.mark.parametrize(
    ("activation", "batch_norm"),
    [*((activation, False) for activation in MONOTONIC), ("elu", True)],
    ids=str,
)
def test_outputs_and_gradients_equal_the_original_model(activation, batch_norm, images):
    # The network pools maps of even and odd sizes, such as 16 x 16 and 9 x 9.
    arguments = {"batch_norm": batch_norm, "kernel_decay": 0.01}
    expected = losses_and_gradients(build(activation, **arguments), images)
    original = build(activation, **arguments)
    model = pool_before_activation(original)
    assert names(model).index("stack1_pool") < names(model).index("act_stack1_conv1")
    computed = losses_and_gradients(model, images)
    np.testing.assert_allclose(computed[0], expected[0], 1e-6)
    assert len(computed[1]) == len(expected[1]) > 20
    largest = max(np.abs(gradient).max() for gradient in expected[1])
    for gradient, other in zip(computed[1], expected[1], strict=True):
        np.testing.assert_allclose(gradient, other, 1e-4, 1e-6 * largest)
    assert names(original).index("act_stack1_conv1") < names(original).index("stack1_pool")
    assert (model.name, model.input_shape) == (original.name, original.input_shape)
    for kind in ("trainable_variables", "non_trainable_variables"):
        pairs = zip(getattr(model, kind), getattr(original, kind), strict=True)
        assert all(a is b for a, b in pairs)


def test_another_pooling_replaces_the_pooling_of_a_chain(images):
    """Also where nothing else changes, because dropout precedes the pooling."""
    pooling = types.SimpleNamespace(
        replaces=lambda layer: isinstance(layer, keras.layers.MaxPooling2D),
        max_pool=lambda x: 2 * tf.nn.max_pool2d(x, 2, 2, "SAME"),
    )
    original = build("relu", dropout_placement="before_pooling", padding="valid")
    assert pool_before_activation(original) is original
    outputs = pool_before_activation(original, pooling)(images)
    # Without biases ReLU networks are homogeneous: four poolings double four times.
    np.testing.assert_allclose(outputs, 16 * original(images), 1e-5, 1e-5)


def test_outputs_in_bfloat16_equal_the_original_model(images):
    original = build()
    precision.apply(original, "bfloat16_conv")
    outputs = pool_before_activation(original)(images)
    np.testing.assert_array_equal(outputs, original(images))


class Bump(ELU):
    """An activation that inherits from ELU, and decreases."""

    def call(self, inputs):
        return -keras.ops.abs(inputs)


def make_branched():
    image = keras.Input((8, 8, 2))
    activated = keras.layers.Activation("relu")(keras.layers.Conv2D(2, 1)(image))
    pooled = keras.layers.MaxPooling2D()(activated)
    both = keras.layers.Add()([pooled, keras.layers.AveragePooling2D(2)(activated)])
    return keras.Model(image, both)


def make_shared():
    image = keras.Input((8, 8, 2))
    layer = keras.layers.Conv2D(2, 1)
    x = keras.layers.Activation("relu")(layer(layer(image)))
    return keras.Model(image, keras.layers.MaxPooling2D()(x))


class Subclassed(keras.Model):
    """A model that has no graph of layers, because `call` is overridden."""

    def __init__(self):
        super().__init__()
        self.unit = keras.layers.Activation("relu")
        self.pool = keras.layers.MaxPooling2D()

    def call(self, x):
        return self.unit(x) - keras.ops.repeat(keras.ops.repeat(self.pool(x), 2, 1), 2)


@pytest.mark.parametrize(
    "make",
    [lambda: build("prelu"), lambda: build(Bump), make_branched, make_shared, Subclassed],
    ids=["prelu", "Bump", "branched", "shared", "subclassed"],
)
def test_a_model_that_may_decrease_or_is_no_chain_does_not_change(make):
    model = make()
    assert pool_before_activation(model) is model
