"""Mean and median activation of each unit, compared with NumPy in float64."""

import keras
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.activations import ELU
from elu_zoo.training.record import activation_statistics
from elu_zoo.training.record.activation_statistics import ActivationStatistics, Statistics

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (11, 4, 5, 2), "uint8")


def build_network():
    """Returns a network: a convolution of two units and a dense layer of three."""
    layers = keras.layers
    return keras.Sequential(
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


def set_weights(model, seed):
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=w.shape) for w in model.get_weights()])


def compute_activations(model, images):
    """Returns activations in float64, `(n, ..., units)`, by the name of the layer."""
    kernel, bias, dense, dense_bias = map(np.float64, model.get_weights()[:4])
    windows = np.lib.stride_tricks.sliding_window_view(images / 255, (2, 3), (1, 2))
    net = np.einsum("nhwcij,ijcu->nhwu", windows, kernel) + bias
    maps = np.where(net > 0, net, np.expm1(np.minimum(net, 0)))
    net = maps.reshape(len(images), -1) @ dense + dense_bias
    return {"act_conv": maps, "act_dense": np.maximum(net, 0)}


def check(statistics, model, images):
    """Checks statistics against those of `compute_activations`, computed by NumPy."""
    activations = compute_activations(model, images)
    assert statistics.names == tuple(activations) == tuple(statistics.median)
    for name, array in activations.items():
        rows = array.reshape(-1, array.shape[-1])
        for statistic, value in (
            (statistics.mean, rows.mean(axis=0)),
            (statistics.median, np.median(rows, axis=0)),
        ):
            assert statistic[name].dtype == np.float32
            np.testing.assert_allclose(statistic[name], value, rtol=1e-5, atol=1e-5)
    means = np.concatenate([a.mean(axis=(0, 1, 2)[: a.ndim - 1]) for a in
                            activations.values()])  # fmt: skip
    assert statistics.median_of_means() == pytest.approx(np.median(means), abs=1e-5)


@pytest.fixture(scope="module")
def measured():
    """A model, and the `ActivationStatistics` of the model."""
    model = build_network()
    return model, ActivationStatistics(model)


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


@pytest.mark.parametrize(
    "row",
    [
        [0, 0, 0, 1, 2],  # more than half of the values are equal
        [0, 0, 1, 2],  # half of the values are equal
        [0, 0, 0, 1],
        [3, 1, 2],
        [7],
        [np.nan, 1, 2],
        [-np.inf, -np.inf, 1],
    ],
)
def test_mean_and_median_equal_numpy(row):
    mean, median = activation_statistics._mean_and_median(np.array([row], "float32"))
    np.testing.assert_array_equal(mean, [np.mean(np.float32(row))])
    np.testing.assert_array_equal(median, [np.median(row)])


def test_saved_statistics_load_equal_and_saving_is_deterministic(measured, tmp_path):
    model, statistics = measured
    saved = statistics(IMAGES)
    path = tmp_path / "new" / "epoch.npz"
    saved.save(path)
    content = path.read_bytes()
    saved.save(str(path))
    assert path.read_bytes() == content
    loaded = Statistics.load(path)
    assert loaded.names == saved.names
    for name in saved.names:
        np.testing.assert_array_equal(loaded.mean[name], saved.mean[name])
        np.testing.assert_array_equal(loaded.median[name], saved.median[name])


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(errors.NotFoundError, match="There is no file .*x.npz"):
        Statistics.load(tmp_path / "x.npz")


@pytest.mark.parametrize(
    "arrays",
    [
        None,
        {},
        {"other": 1},
        {"mean/act_a": 1},
        {"mean/act_a": 1, "median/act_b": 1},
        {"mean/act_a": {1: 2}, "median/act_a": 1},
    ],
)
def test_file_without_statistics_is_refused(arrays, tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(b"PK\3\4 and nothing else")
    if arrays is not None:
        np.savez(path, **arrays)
    with pytest.raises(errors.CorruptError, match="x.npz is not a file of activation"):
        Statistics.load(path)
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(errors.CorruptError):
        Statistics.load(tmp_path / "x.npy")


def test_model_without_activation_layers_is_refused():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="alone")])
    with pytest.raises(errors.UsageError, match=r"begin with act_. Received the layers alone"):
        ActivationStatistics(model)


@pytest.mark.parametrize("images", [IMAGES[:0], IMAGES[..., :1], IMAGES[0], 3.0])
def test_images_of_the_wrong_shape_are_refused(measured, images):
    with pytest.raises(errors.UsageError, match=r"one or more images of shape \(4, 5, 2\)"):
        measured[1](images)
