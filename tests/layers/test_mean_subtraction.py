import h5py
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


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_against_numpy(mean_name, images, expected):
    layer = MeanSubtraction(mean_name)
    found = layer(images)
    assert found.dtype == "float32"
    assert_close(found, expected)
    assert layer(images[:0]).shape == images[:0].shape


def test_of_the_images_of_a_set(mean_name, images, expected):
    layer = MeanSubtraction("small")
    assert_close(layer(images), expected)
    assert layer.get_config()["statistics"] == mean_name


def test_pixels_of_bytes(mean_name, images, expected):
    """A model's input makes floats of them."""
    model = keras.Sequential([keras.Input([2, 3, 3]), MeanSubtraction(mean_name)])
    assert_close(model(images.astype("uint8")), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "mixed_bfloat16", "float64"])
def test_types(mean_name, images, expected, dtype):
    found = MeanSubtraction(mean_name, dtype=dtype)(images)
    assert found.dtype == dtype.removeprefix("mixed_")
    limit = {"float16": 0.2, "float64": 1e-12}.get(found.dtype.name, 2)
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, atol=limit)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_traced(mean_name, images, expected, jit_compile):
    model = keras.Sequential([keras.Input([2, 3, 3]), MeanSubtraction(mean_name)])
    program = tf.function(lambda x: model(x), jit_compile=jit_compile)
    for count in (5, 2):
        assert_close(program(images[:count]), expected[:count])


def test_a_batch_of_unknown_size(mean_name, images, expected):
    layer = MeanSubtraction(mean_name)
    signature = [tf.TensorSpec([None, 2, 3, 3])]
    program = tf.function(lambda x: layer(x), input_signature=signature)
    for count in (5, 1, 0):
        assert_close(program(images[:count]), expected[:count])


@pytest.mark.parametrize(
    "shape", [(2, 3, 1), (3, 2, 3), (32, 32, 3), (2, 3), (18,), (None, 3, 3)]
)
def test_refuses_images_of_another_shape(mean_name, shape):
    with pytest.raises(errors.UsageError) as caught:
        keras.Sequential([keras.Input(shape), MeanSubtraction("small")])
    text = str(caught.value)
    assert f"The mean {mean_name} is of images (2, 3, 3). Received" in text
    assert f"the shape {shape}. Resize the images, or" in text
    assert "preprocessing=False" in text


@pytest.mark.parametrize("name", ["smal", "mnist", "small_mean-" + "0" * 16])
def test_refuses_a_name(mean_name, name):
    with pytest.raises(errors.NotFoundError, match=f"no mean image '{name}'"):
        MeanSubtraction(name)(np.zeros((1, 2, 3, 3)))


def test_refuses_a_damaged_file(mean_name, home):
    path = home / "statistics" / f"{mean_name}.npz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(errors.CorruptError, match=f"{mean_name}.npz is damaged"):
        MeanSubtraction("small")(np.zeros((1, 2, 3, 3)))


def test_nothing_is_a_weight(mean_name, tmp_path):
    model = keras.Sequential([keras.Input([2, 3, 3]), MeanSubtraction(mean_name)])
    model.add(keras.layers.Flatten())
    model.add(keras.layers.Dense(4))
    layer = model.layers[0]
    assert layer.weights == [] and layer.variables == [] and layer.count_params() == 0
    model.save_weights(tmp_path / "m.weights.h5")
    shapes = []
    with h5py.File(tmp_path / "m.weights.h5") as file:
        file.visititems(lambda _, item: shapes.append(getattr(item, "shape", None)))
    assert sorted(shape for shape in shapes if shape) == [(4,), (18, 4)]


def test_config_and_file(mean_name, images, expected, tmp_path):
    layer = MeanSubtraction("small", name="subtract")
    assert layer.get_config()["statistics"] == "small"  # not looked for yet
    model = keras.Sequential([keras.Input([2, 3, 3]), layer])
    assert model.output_shape == (None, 2, 3, 3)
    again = MeanSubtraction.from_config(layer.get_config())
    assert (again.name, again.statistics) == ("subtract", mean_name)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    for other in (again, loaded, keras.models.clone_model(model)):
        assert_close(other(images), expected)


def test_a_saved_model_names_its_statistics(mean_name, home, tmp_path):
    model = keras.Sequential([keras.Input([2, 3, 3]), MeanSubtraction("small")])
    model.save(tmp_path / "m.keras")
    (home / "statistics" / f"{mean_name}.npz").unlink()
    mean_subtraction._tensor.cache_clear()
    with pytest.raises(Exception, match=f"no mean image '{mean_name}'"):
        keras.models.load_model(tmp_path / "m.keras")


def test_first_called_in_a_graph(mean_name, images, expected):
    """What it holds belongs to no graph, and to all layers of these statistics."""
    layer, other = MeanSubtraction(mean_name), MeanSubtraction("small")
    assert_close(tf.function(layer)(images), expected)
    for each in (layer, other):
        assert_close(each(images), expected)
    assert other._mean is layer._mean
    half = MeanSubtraction("small", dtype="float16")
    half(images)
    assert half._mean.dtype == "float16"


def test_exported(mean_name, images, expected, home, tmp_path):
    """Whole: it needs the statistics' file no more."""
    layer = MeanSubtraction(mean_name)
    layer.build([None, 2, 3, 3])
    module = tf.Module()
    signature = [tf.TensorSpec([None, 2, 3, 3])]
    module.call = tf.function(lambda x: layer(x), input_signature=signature)
    tf.saved_model.save(module, str(tmp_path / "model"))
    (home / "statistics" / f"{mean_name}.npz").unlink()
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert_close(loaded.call(images), expected)
