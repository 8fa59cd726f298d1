"""MeanSubtraction reads the mean image from its file and has no weights."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import MeanSubtraction, mean_subtraction


@pytest.fixture
def images():
    draws = np.random.default_rng(1).integers(0, 256, (5, 2, 3, 3))
    return draws.astype("float32")


@pytest.fixture
def expected(images, mean):
    return images.astype(np.float64) - mean.astype(np.float64)


def assert_close(outputs, expected):
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-5)


def test_outputs_equal_numpy(mean_name, images, expected):
    layer = MeanSubtraction(mean_name)
    outputs = layer(images)
    assert outputs.dtype == "float32"
    assert_close(outputs, expected)
    assert layer(images[:0]).shape == images[:0].shape


def test_the_name_of_the_images_selects_the_file(mean_name, images, expected):
    layer = MeanSubtraction("small")
    assert_close(layer(images), expected)
    assert layer.get_config()["statistics"] == mean_name


@pytest.mark.parametrize("shape", [(3, 2, 3), (18,), (None, 3, 3)])
def test_images_of_another_shape_are_refused(mean_name, shape):
    with pytest.raises(errors.UsageError) as caught:
        keras.Sequential([keras.Input(shape), MeanSubtraction("small")])
    text = str(caught.value)
    assert f"The mean image {mean_name} has the shape (2, 3, 3). Received" in text
    assert f"images of shape {shape}. Resize the images, or" in text
    assert "preprocessing=False" in text


def test_a_saved_model_contains_the_name_of_its_statistics(mean_name, home, tmp_path):
    model = keras.Sequential([keras.Input([2, 3, 3]), MeanSubtraction("small")])
    model.save(tmp_path / "m.keras")
    (home / "statistics" / f"{mean_name}.npz").unlink()
    mean_subtraction._tensor.cache_clear()
    with pytest.raises(Exception, match=f"no mean image '{mean_name}'"):
        keras.models.load_model(tmp_path / "m.keras")


def test_a_mean_loaded_in_a_graph_stays_valid_and_is_shared(mean_name, images, expected):
    layer, same_file = MeanSubtraction(mean_name), MeanSubtraction("small")
    assert_close(tf.function(layer)(images), expected)
    for built in (layer, same_file):
        assert_close(built(images), expected)
    assert same_file._mean is layer._mean
    half = MeanSubtraction("small", dtype="float16")
    half(images)
    assert half._mean.dtype == "float16"
