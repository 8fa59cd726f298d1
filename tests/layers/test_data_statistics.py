"""ZCAWhitening and MeanSubtraction read statistics from files and have no weights."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import MeanSubtraction, ZCAWhitening, data_statistics, statistics_file


@pytest.fixture
def images():
    return np.random.default_rng(1).normal(size=(5, 2, 3, 3)).astype("float32")


@pytest.fixture
def expected(images, small):
    x = images.astype(np.float64).reshape(5, 18)
    return ((x - small.mean) @ small.matrix).reshape(images.shape)


def test_outputs_equal_numpy(whitening, images, expected):
    y = ZCAWhitening(whitening)(images)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
    whole = np.uint8(99 * abs(images))
    y = ZCAWhitening(whitening)(whole)
    np.testing.assert_array_equal(y, ZCAWhitening(whitening)(np.float32(whole)))
    empty = ZCAWhitening(whitening)(images[:0])
    assert empty.shape == images[:0].shape


def test_the_name_of_the_images_selects_the_file(whitening, images, expected):
    layer = ZCAWhitening("small")
    np.testing.assert_allclose(layer(images), expected, rtol=1e-5, atol=1e-5)
    assert layer.get_config()["statistics"] == whitening


@pytest.mark.parametrize("shape", [(2, 3, 1), (17,)])
def test_images_with_another_number_of_values_are_refused(whitening, shape):
    with pytest.raises(errors.UsageError, match=f"{whitening} fit images of 18 values"):
        keras.Sequential([keras.Input(shape), ZCAWhitening(whitening)])


@pytest.mark.parametrize("shape", [(3, 2, 3), (18,), (None, 3, 3)])
def test_images_of_another_shape_than_the_mean_are_refused(mean_name, shape):
    with pytest.raises(errors.UsageError, match=f"{mean_name} has the shape.*preprocessing=False"):
        keras.Sequential([keras.Input(shape), MeanSubtraction("small")])


def test_the_statistics_are_not_weights(whitening):
    model = keras.Sequential([keras.Input([2, 3, 3]), ZCAWhitening(whitening)])
    assert model.weights == model.layers[0].variables == []


def test_a_saved_model_contains_the_name_of_its_statistics(whitening, home, tmp_path):
    model = keras.Sequential([keras.Input([2, 3, 3]), ZCAWhitening("small")])
    model.save(tmp_path / "m.keras")
    (home / "statistics" / f"{whitening}.npz").unlink()
    data_statistics._tensors.cache_clear()
    with pytest.raises(Exception, match=f"no whitening statistics '{whitening}'"):
        keras.models.load_model(tmp_path / "m.keras")


def test_tensors_loaded_in_a_graph_stay_valid_and_are_shared(whitening, images, expected):
    layer = ZCAWhitening(whitening)
    np.testing.assert_allclose(tf.function(layer)(images), expected, atol=1e-5)
    same_file = ZCAWhitening("small")
    for built in (layer, same_file):
        np.testing.assert_allclose(built(images), expected, atol=1e-5)
    assert same_file._matrix is layer._matrix


def test_a_saved_model_needs_no_statistics_file(whitening, images, expected, home, tmp_path):
    model = keras.Sequential([keras.Input([2, 3, 3]), ZCAWhitening(whitening)])
    model.export(tmp_path / "model", verbose=False)
    (home / "statistics" / f"{whitening}.npz").unlink()
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    np.testing.assert_allclose(loaded.serve(images), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_shipped_statistics_fit_images_of_normalised_contrast(name):
    values = 32 * 32 * 3
    layer = ZCAWhitening(name)
    layer.build([None, 32, 32, 3])
    stored = statistics_file.read(layer.statistics)
    assert stored.mean.shape == (values,) and stored.matrix.shape == (values, values)
    assert stored.mean.dtype == stored.matrix.dtype == np.float32
    np.testing.assert_array_equal(stored.matrix, stored.matrix.T)
    # The values of each image sum to 0. In the direction of equal values, the only
    # variance is therefore the bias of 0.1.
    assert abs(stored.mean.sum()) < 0.05
    ones = np.ones(values) / np.sqrt(values)
    np.testing.assert_allclose(stored.matrix @ ones, ones / np.sqrt(0.1), atol=1e-3)
    # The largest entry of each row is the diagonal entry.
    assert (np.diag(stored.matrix) > np.abs(np.triu(stored.matrix, 1)).max(1)).all()
