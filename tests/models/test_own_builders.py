"""Own networks: names of their layers, which Keras counts over all models, and needed layers."""

import keras
import numpy as np
import pytest
from published_weights import read

import elu_zoo
from elu_zoo import errors
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


def test_a_network_needs_a_classifier_and_for_raw_images_preprocessing(restored_models):
    def bare(activation="elu", *, num_classes=2, width=1.0):
        name = "classifier" if width == 1 else None
        return keras.Sequential([keras.Input([2]), keras.layers.Dense(num_classes, name=name)])

    elu_zoo.register_model(bare)
    assert elu_zoo.get_model("bare", preprocessing=False).output_shape == (None, 2)
    with pytest.raises(errors.UsageError, match="layer named 'classifier'"):
        elu_zoo.get_model("bare", preprocessing=False, width=0.5)
    with pytest.raises(errors.UsageError, match="'preprocessing'.*Pass .*=False"):
        elu_zoo.get_model("bare")
