"""A small classifier of 4 classes, and images for it."""

import keras
import numpy as np

from elu_zoo.initializers import HeUniform


def dense(activation="elu", inner=False):
    """Returns a net of 5 hidden units.

    The activation is an argument of the dense layer if `inner`, else a layer after it.
    """
    act, after = (activation, None) if inner else (None, activation)
    hidden = keras.layers.Dense(5, act, kernel_initializer=HeUniform(1), name="hidden")
    last = keras.layers.Dense(4, kernel_initializer=HeUniform(2), name="classifier")
    first = keras.layers.Flatten(name="flatten")
    after = keras.layers.Activation(after)
    return keras.Sequential([keras.Input((2, 3, 1)), first, hidden, after, last])


def examples(model, count=230):
    rng = np.random.default_rng(0)
    images = rng.normal(size=(count, *model.input_shape[1:])).astype("float32")
    return images, rng.integers(0, model.output_shape[-1], count)
