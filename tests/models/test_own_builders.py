"""Own networks: names of their layers, which Keras counts over all models, and needed layers."""

import keras
import numpy as np
import pytest
from published_weights import read

import elu_zoo
from elu_zoo import errors
from elu_zoo.weights import hdf5


def build(named=False):
    """Returns a residual network, whose layers Keras lists in another order than it names them."""
    image = keras.Input((3,))
    shortcut = keras.layers.Dense(4)(image)
    x = keras.layers.Dense(3, name="first" if named else None)(image)
    x = keras.layers.Add()([keras.layers.Dense(4)(x), shortcut])
    return keras.Model(image, keras.layers.Dense(2, name="classifier")(x))


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("by_keras", [False, True])
def test_weights_of_one_model_are_those_of_another(tmp_path, named, by_keras):
    first, second, path = build(named), build(named), tmp_path / "net.weights.h5"
    first.save_weights(path) if by_keras else path.write_bytes(hdf5.write(first))
    hdf5.assign(second, read(path, second))
    for ours, expected in zip(second.get_weights(), first.get_weights(), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-3, 1e-6)


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
