"""ZCAWhitening: values, errors, and absence of weights."""

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import ZCAWhitening, statistics_file, zca_whitening


@pytest.fixture
def images():
    return np.random.default_rng(1).normal(size=(5, 2, 3, 3)).astype("float32")


@pytest.fixture
def expected(images, small):
    x = images.astype(np.float64).reshape(5, 18)
    return ((x - small.mean) @ small.matrix).reshape(images.shape)


def test_against_numpy(whitening, images, expected):
    y = ZCAWhitening(whitening)(images)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
    empty = ZCAWhitening(whitening)(images[:0])
    assert empty.shape == images[:0].shape


def test_the_name_of_a_set_finds_its_file(whitening, images, expected):
    layer = ZCAWhitening("small")
    np.testing.assert_allclose(layer(images), expected, rtol=1e-5, atol=1e-5)
    assert layer.get_config()["statistics"] == whitening


@pytest.mark.parametrize("shape", [(3, 2, 3), (2, 9), (18,)])
def test_images_of_any_shape_with_as_many_values_are_whitened(
    whitening, images, expected, shape
):
    y = ZCAWhitening(whitening)(images.reshape(5, *shape))
    np.testing.assert_allclose(y, expected.reshape(5, *shape), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 1), (17,)])
def test_images_with_another_number_of_values_are_refused(whitening, shape):
    message = rf"{whitening} fit images of 18 values. Received .* shape \({shape[0]}"
    with pytest.raises(errors.UsageError, match=message) as caught:
        keras.Sequential([keras.Input(shape), ZCAWhitening(whitening)])
    assert "preprocessing=False" in str(caught.value)


def test_an_unknown_name_is_refused(home):
    with pytest.raises(errors.NotFoundError, match="no whitening statistics 'cifr10'"):
        ZCAWhitening("cifr10")(np.zeros((1, 32, 32, 3)))


def test_weight_files_do_not_contain_the_statistics(whitening, tmp_path):
    model = keras.Sequential([keras.Input([2, 3, 3]), ZCAWhitening(whitening)])
    model.add(keras.layers.Flatten())
    model.add(keras.layers.Dense(4))
    layer = model.layers[0]
    assert layer.weights == [] and layer.variables == [] and layer.count_params() == 0
    assert model.count_params() == 18 * 4 + 4
    model.save_weights(tmp_path / "m.weights.h5")
    shapes = []
    with h5py.File(tmp_path / "m.weights.h5") as file:
        file.visititems(lambda _, item: shapes.append(getattr(item, "shape", None)))
    assert sorted(shape for shape in shapes if shape) == [(4,), (18, 4)]


def test_config_keeps_the_statistics(whitening):
    layer = ZCAWhitening("small", name="whiten")
    assert layer.get_config()["statistics"] == "small"  # not resolved before build
    again = ZCAWhitening.from_config(layer.get_config())
    assert (again.name, again.statistics) == ("whiten", "small")
    model = keras.Sequential([keras.Input([2, 3, 3]), again])
    assert model.output_shape == (None, 2, 3, 3)


def test_a_saved_model_contains_the_name_of_its_statistics(whitening, home, tmp_path):
    model = keras.Sequential([keras.Input([2, 3, 3]), ZCAWhitening("small")])
    model.save(tmp_path / "m.keras")
    (home / "statistics" / f"{whitening}.npz").unlink()
    zca_whitening._tensors.cache_clear()
    with pytest.raises(Exception, match=f"no whitening statistics '{whitening}'"):
        keras.models.load_model(tmp_path / "m.keras")


def test_tensors_loaded_in_a_graph_stay_valid_and_are_shared(
    whitening, images, expected
):
    layer = ZCAWhitening(whitening)
    np.testing.assert_allclose(tf.function(layer)(images), expected, atol=1e-5)
    other = ZCAWhitening("small")
    for each in (layer, other):
        np.testing.assert_allclose(each(images), expected, atol=1e-5)
    assert other._matrix is layer._matrix


def test_a_saved_model_needs_no_statistics_file(
    whitening, images, expected, home, tmp_path
):
    layer = ZCAWhitening(whitening)
    layer.build([None, 2, 3, 3])
    module = tf.Module()
    signature = [tf.TensorSpec([None, 2, 3, 3])]
    module.call = tf.function(lambda x: layer(x), input_signature=signature)
    tf.saved_model.save(module, str(tmp_path / "model"))
    (home / "statistics" / f"{whitening}.npz").unlink()
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    np.testing.assert_allclose(loaded.call(images), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_shipped_statistics(name):
    """The matrix has properties of whitened images of normalised contrast."""
    values = 32 * 32 * 3
    layer = ZCAWhitening(name)
    layer.build([None, 32, 32, 3])
    found = statistics_file.read(layer.statistics)
    assert found.mean.shape == (values,) and found.matrix.shape == (values, values)
    assert found.mean.dtype == found.matrix.dtype == np.float32
    np.testing.assert_array_equal(found.matrix, found.matrix.T)
    # The values of each image sum to 0. In this direction the only variance is the
    # bias of 0.1.
    assert abs(found.mean.sum()) < 0.05
    ones = np.ones(values) / np.sqrt(values)
    np.testing.assert_allclose(found.matrix @ ones, ones / np.sqrt(0.1), atol=1e-3)
    # The largest entry of each row is that of the pixel itself.
    assert (np.diag(found.matrix) > np.abs(np.triu(found.matrix, 1)).max(1)).all()
