"""Mean and median activation of each unit, compared with NumPy in float64."""

import keras
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.activations import ELU
from elu_zoo.training.record import activation_statistics
from elu_zoo.training.record.activation_statistics import StatisticsOfModel, UnitStatistics

IMAGES = np.random.default_rng(0).integers(0, 256, (11, 4, 5, 2), "uint8")


@pytest.fixture(scope="module")
def measured():
    """A model and its `StatisticsOfModel`: a convolution of two and a layer of three units."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((4, 5, 2)),
            layers.Rescaling(1 / 255),
            layers.Conv2D(2, (2, 3), name="conv"),
            ELU(name="act_conv"),
            layers.Flatten(),
            layers.Dense(3, name="dense"),
            layers.ReLU(name="act_dense"),
            layers.Dropout(0.5),
            layers.Dense(10, name="classifier"),
        ]
    )
    return model, StatisticsOfModel(model)


def set_weights(model, seed):
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=w.shape) for w in model.get_weights()])


def check(statistics, model, images):
    """Compares statistics with those of activations computed by NumPy in float64."""
    kernel, bias, dense, dense_bias = map(np.float64, model.get_weights()[:4])
    windows = np.lib.stride_tricks.sliding_window_view(images / 255, (2, 3), (1, 2))
    net = np.einsum("nhwcij,ijcu->nhwu", windows, kernel) + bias
    maps = np.where(net > 0, net, np.expm1(np.minimum(net, 0)))
    net = maps.reshape(len(images), -1) @ dense + dense_bias
    activations = {"act_conv": maps.reshape(-1, 2), "act_dense": np.maximum(net, 0)}
    assert list(statistics.mean) == list(activations) == list(statistics.median)
    for name, values in activations.items():
        assert statistics.mean[name].dtype == statistics.median[name].dtype == np.float32
        np.testing.assert_allclose(statistics.mean[name], values.mean(0), 1e-5, 1e-5)
        np.testing.assert_allclose(statistics.median[name], np.median(values, 0), 1e-5, 1e-5)


@pytest.mark.parametrize("count", [1, 2, 11])
def test_statistics_are_those_of_the_current_weights(measured, count):
    model, statistics = measured
    for seed in (1, 2):
        set_weights(model, seed)
        check(statistics(IMAGES[:count]), model, IMAGES[:count])


def test_statistics_do_not_depend_on_the_sizes_of_batches(measured, monkeypatch):
    model, statistics = measured
    monkeypatch.setattr(activation_statistics, "_PART_VALUES", 4 * (3 * 3 * 2))
    check(statistics(IMAGES), model, IMAGES)


def test_the_model_is_traced_once(measured, monkeypatch):
    model, statistics = measured
    statistics(IMAGES)
    monkeypatch.setattr(type(model), "call", None)
    set_weights(model, 5)
    check(statistics(IMAGES[:7]), model, IMAGES[:7])


def test_saved_statistics_load_equal_and_saving_is_deterministic(measured, tmp_path):
    saved, path = measured[1](IMAGES), tmp_path / "new" / "epoch.npz"
    saved.save(path)
    content = path.read_bytes()
    saved.save(path)
    assert path.read_bytes() == content
    loaded = UnitStatistics.load(path)
    assert list(loaded.mean) == list(saved.mean)
    for name in saved.mean:
        np.testing.assert_array_equal(loaded.mean[name], saved.mean[name])
        np.testing.assert_array_equal(loaded.median[name], saved.median[name])


def test_model_without_activation_layers_is_refused():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="alone")])
    with pytest.raises(errors.UsageError, match="act_"):
        StatisticsOfModel(model)
