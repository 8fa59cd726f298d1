"""Layers without a name of their own get their weights; Keras counts them over all models."""

import keras
import numpy as np
from published_weights import read

from elu_zoo.weights import hdf5


def build():
    x = image = keras.Input((3,))
    for units in 4, 5:
        x = keras.layers.Dense(units)(x)
    return keras.Model(image, keras.layers.Dense(2, name="classifier")(x))


def test_weights_of_one_model_are_those_of_another(tmp_path):
    first, second, path = build(), build(), tmp_path / "net.weights.h5"
    assert first.layers[1].name != second.layers[1].name
    path.write_bytes(hdf5.write(first))
    hdf5.assign(second, read(path, second))
    for ours, expected in zip(second.get_weights(), first.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, np.float16(expected))
