"""Weight files are exchanged with Keras and hold weights rounded to float16."""

import numpy as np
import pytest
from published_weights import read

import elu_zoo
from elu_zoo import errors
from elu_zoo.weights import hdf5

MODEL = "mnist_mlp_8x128"


def get(seed=3, **arguments):
    small = {"width": 0.1, "preprocessing": True}
    model = elu_zoo.get_model(MODEL, seed=seed, **small, **arguments)
    rng = np.random.default_rng(seed)
    for layer in model.layers:
        for variable in layer.weights:
            variable.assign(rng.uniform(-2, 2, variable.shape))
    return model


@pytest.mark.parametrize("arguments", [{"activation": "prelu"}, {"batch_norm": True}])
def test_keras_reads_the_files(arguments, tmp_path):
    model, other = (get(seed=seed, **arguments) for seed in (3, 4))
    (tmp_path / "ours.weights.h5").write_bytes(hdf5.write(model))
    other.load_weights(tmp_path / "ours.weights.h5")
    exact = [value.astype(np.float16) for value in model.get_weights()]
    np.testing.assert_equal(other.get_weights(), exact)


def test_writing_twice_gives_equal_bytes():
    assert hdf5.write(get()) == hdf5.write(get())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(value):
    model = get()
    model.get_layer("dense3").bias.assign(np.full(13, value))
    with pytest.raises(errors.CorruptError, match="dense3/bias is not finite"):
        hdf5.write(model)


@pytest.mark.parametrize(
    ("value", "stored"),
    [(65519.0, 65504), (65520.0, 65520), (70001.125, 70001.125), (-1e30, -1e30)],
)
def test_an_array_that_overflows_float16_is_stored_in_float32(tmp_path, value, stored):
    model, path = get(batch_norm=True), tmp_path / "net.weights.h5"
    variance = model.get_layer("norm_dense3").moving_variance
    variance.assign([value] + [1 / 3] * 12)
    path.write_bytes(hdf5.write(model))
    read_back = read(path, model)["norm_dense3"][3]
    third = np.float16(1 / 3) if stored == 65504 else np.float32(1 / 3)
    np.testing.assert_array_equal(read_back, np.float32([stored] + [third] * 12))
    np.testing.assert_array_equal(hdf5.rounded(variance), read_back)
    get(batch_norm=True).load_weights(path)
