"""Models that end at the maps of a network, and models inside of another model."""

import keras
import numpy as np
import pytest

import elu_zoo


@pytest.mark.parametrize("pooling", ["avg", "max"])
def test_pooling_reduces_the_maps_of_a_body(pooling):
    arguments = {"width": 0.03, "include_top": False, "padding": "same"}
    shape = {"input_shape": (70, 130, 3), "preprocessing": False}
    images = np.random.default_rng(0).normal(size=(2, 70, 130, 3)).astype("float32")
    maps = elu_zoo.get_model("elu_cifar_11", **arguments, **shape)(images)
    model = elu_zoo.get_model("elu_cifar_11", pooling=pooling, **arguments, **shape)
    maps = np.asarray(maps)
    expected = maps.mean((1, 2)) if pooling == "avg" else maps.max((1, 2))
    assert maps.shape == (2, 2, 3, 9) and model.output_shape == (None, 9)
    np.testing.assert_allclose(model(images), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_an_ensemble_of_named_models_is_saved_and_loaded(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (5, 28, 28, 1), "uint8")
    names = ["first", "second"]
    members = [
        elu_zoo.get_model("mnist_mlp_8x128", width=0.1, seed=i, model_name=name)
        for i, name in enumerate(names)
    ]
    image = keras.Input((28, 28, 1))
    mean = keras.layers.Average()([member(image) for member in members])
    ensemble = keras.Model(image, mean)
    assert [layer.name for layer in ensemble.layers[1:3]] == names
    ensemble.compile("adam", "mse")
    ensemble.fit(images, np.zeros((5, 10)), verbose=0)
    ensemble.save(tmp_path / "x.keras")
    loaded = keras.models.load_model(tmp_path / "x.keras")
    expected = np.mean([np.asarray(member(images)) for member in members], axis=0)
    np.testing.assert_allclose(loaded(images), expected, rtol=1e-5, atol=1e-6)
