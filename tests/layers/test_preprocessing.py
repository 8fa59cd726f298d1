"""Descriptions of preprocessing become layers."""

import math

import keras
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.layers import preprocess, preprocessing, preprocessing_layers


@pytest.mark.parametrize("scale", [1 / 255, 2.0])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_rescale(scale, dtype):
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 1)).astype(dtype)
    (layer,) = preprocessing_layers({"kind": "rescale", "scale": scale})
    assert layer.name == "rescale"
    y = np.asarray(layer(images))
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, images.astype(np.float64) * scale, rtol=1e-6)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"kind": "rescal"}, "Unknown preprocessing 'rescal'.*mean 'rescale'"),
        ({}, "Unknown preprocessing None.*Known: rescale, gcn_zca"),
        ({"kind": "zca"}, "Unknown preprocessing 'zca'.*mean 'gcn_zca'"),
        ({"kind": "rescale"}, "'scale', the factor of every pixel. Received: {'kind"),
        (
            {"kind": "gcn_zca", "scale": 1},
            "'gcn_zca' has an entry 'statistics', the name of the whitening statistics",
        ),
    ],
)
def test_unknown(description, message):
    with pytest.raises(errors.UsageError, match=message):
        preprocessing_layers(description)
    with pytest.raises(errors.UsageError, match=message):
        preprocess(np.zeros((1, 2, 3, 3)), description)


def whitened(images, statistics):
    """In float64."""
    x = images.reshape(len(images), math.prod(images.shape[1:])).astype(np.float64)
    x -= x.mean(1, keepdims=True)
    x *= 55 / np.linalg.norm(x, axis=1, keepdims=True)
    return ((x - statistics.mean) @ statistics.matrix).reshape(images.shape)


def test_gcn_zca(whitening, small):
    description = {"kind": "gcn_zca", "statistics": whitening}
    images = np.random.default_rng(0).integers(0, 256, (7, 2, 3, 3), "uint8")
    layers = preprocessing_layers(description)
    assert [layer.name for layer in layers] == ["normalize", "whiten"]
    y = np.asarray(keras.Sequential(layers)(images.astype("float32")))
    np.testing.assert_allclose(y, whitened(images, small), rtol=1e-4, atol=1e-3)


def test_gcn_zca_stays_float32(whitening):
    previous = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy("mixed_bfloat16")
        layers = preprocessing_layers({"kind": "gcn_zca", "statistics": whitening})
        assert [layer.compute_dtype for layer in layers] == ["float32", "float32"]
    finally:
        keras.config.set_dtype_policy(previous)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 10, 11])
def test_preprocess(whitening, small, monkeypatch, count, dtype):
    monkeypatch.setattr(preprocessing, "_SLICE", 5)
    images = np.random.default_rng(0).integers(0, 256, (count, 2, 3, 3)).astype(dtype)
    y = preprocess(images, {"kind": "gcn_zca", "statistics": whitening})
    assert (type(y), y.dtype) == (np.ndarray, np.float32)
    np.testing.assert_allclose(y, whitened(images, small), rtol=1e-4, atol=1e-3)
    scaled = preprocess(images, {"kind": "rescale", "scale": 0.5})
    np.testing.assert_array_equal(scaled, images * 0.5)
