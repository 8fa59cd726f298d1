"""MeanSubtraction reads the mean image from its file and has no weights."""

import keras
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.layers import MeanSubtraction


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
