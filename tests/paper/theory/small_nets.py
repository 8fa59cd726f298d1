"""Small classifiers of 4 classes, and images for them."""

import keras
import numpy as np

from elu_zoo.initializers import HeUniform


def net(shape, *layers, softmax=False):
    """Returns a model of the layers, followed by a classifier of 4 classes."""
    last = keras.layers.Dense(4, kernel_initializer=HeUniform(2), name="classifier")
    flat = keras.layers.Flatten(name="features")
    layers = *layers, flat, last, *[keras.layers.Softmax()] * softmax
    return keras.Sequential([keras.Input(shape), *layers])


def dense(activation="elu", inner=False):
    """Returns a net of 5 hidden units.

    The activation is an argument of the dense layer if `inner`, else a layer after it.
    """
    act, after = (activation, None) if inner else (None, activation)
    hidden = keras.layers.Dense(5, act, kernel_initializer=HeUniform(1), name="hidden")
    first = keras.layers.Flatten(name="flatten")
    return net((2, 3, 1), first, hidden, keras.layers.Activation(after))


def examples(model, count=230):
    rng = np.random.default_rng(0)
    images = rng.normal(size=(count, *model.input_shape[1:])).astype("float32")
    return images, rng.integers(0, model.output_shape[-1], count)
