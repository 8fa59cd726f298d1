"""Preprocessing descriptions become layers, model inputs and preprocessed images."""

import math

import keras
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.layers import (
    image_input,
    preprocess,
    preprocessing,
    preprocessing_layers,
    statistics_file,
)

CROP = {"kind": "mean_crop", "statistics": "small", "crop": (1, 2)}


def test_rescale_multiplies_and_adds():
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 3), "uint8")
    for offset in ({}, {"offset": -1.0}, {"offset": [-1.0, 2.0, 0.5]}):
        description = {"kind": "rescale", "scale": 1 / 127.5, **offset}
        (layer,) = preprocessing_layers(description)
        assert layer.name == "rescale"
        expected = images / 127.5 + offset.get("offset", 0)
        np.testing.assert_allclose(layer(images), expected, 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"kind": "rescal"}, "mean 'rescale'"),
        ({}, "Known: rescale, gcn"),
        ({"kind": "rescale", "scale": 0.0}, "not 0"),
        ({"kind": "rescale", "scale": 2, "offset": [0, "a"]}, "offset"),
        ({"kind": "rescale"}, "entry 'scale'"),
        ({"kind": "rescale", "ofset": -1}, "mean 'offset'"),
        ({"kind": "mean", "statistics": "cifar100_gcn"}, "of normalised images.*'mean'"),
        ({"kind": "gcn_mean", "statistics": "cifar100_mean-467d4512b8d13a3a"}, "of raw images"),
        ({**CROP, "statistics": "smal"}, "mean 'small'"),
        ({**CROP, "crop": (2, 4)}, "does not fit"),
        ({**CROP, "crop": (2.0, 2)}, "integers"),
    ],
)
def test_wrong_descriptions_are_refused(mean_name, description, message):
    with pytest.raises(errors.UsageError, match=message):
        preprocessing_layers(description)


def whiten(images, statistics):
    x = images.reshape(len(images), math.prod(images.shape[1:])).astype(np.float64)
    x -= x.mean(1, keepdims=True)
    x *= 55 / np.linalg.norm(x, axis=1, keepdims=True)
    return ((x - statistics.mean) @ statistics.matrix).reshape(images.shape)


def test_gcn_zca_normalises_and_whitens(whitening, small):
    description = {"kind": "gcn_zca", "statistics": whitening}
    images = np.random.default_rng(0).integers(0, 256, (7, 2, 3, 3), "uint8")
    layers = preprocessing_layers(description)
    assert [layer.name for layer in layers] == ["normalize", "whiten"]
    y = np.asarray(keras.Sequential(layers)(images.astype("float32")))
    np.testing.assert_allclose(y, whiten(images, small), rtol=1e-4, atol=1e-3)


def test_layers_compute_in_float32_under_any_policy(whitening, mean_name):
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        rescale = {"kind": "rescale", "scale": 2.0}
        for description in ({"kind": "gcn_zca", "statistics": whitening}, CROP, rescale):
            layers = preprocessing_layers(description)
            assert {layer.compute_dtype for layer in layers} == {"float32"}
    finally:
        keras.config.set_dtype_policy(policy)


def subtract_and_crop(images, mean, height, width):
    """Returns centre crops of images minus the mean image, in float64.

    If the margin is odd, the crop is half a pixel above and left of the centre.
    """
    top = (mean.shape[0] - height) // 2
    left = (mean.shape[1] - width) // 2
    result = np.empty((len(images), height, width, mean.shape[2]))
    for r in range(height):
        for c in range(width):
            pixels = images[:, top + r, left + c].astype(np.float64)
            result[:, r, c] = pixels - mean[top + r, left + c]
    return result


@pytest.mark.parametrize("crop", [(4, 3), (7, 6), [2, 2]])
def test_mean_crop_subtracts_the_mean_and_crops(home, crop):
    rng = np.random.default_rng(0)
    mean = rng.uniform(0, 255, (7, 6, 3)).astype(np.float32)
    name = statistics_file.write_mean(home / "statistics", "some", mean).stem
    description = {"kind": "mean_crop", "statistics": "some", "crop": crop}
    layers = preprocessing_layers(description)
    assert [layer.name for layer in layers] == ["subtract_mean", "centre_crop"]
    images = rng.integers(0, 256, (5, 7, 6, 3), "uint8")
    expected = subtract_and_crop(images, mean, *crop)
    outputs = np.asarray(keras.Sequential(layers)(images.astype("float32")))
    np.testing.assert_allclose(outputs, expected, atol=1e-5)
    assert layers[0].get_config()["statistics"] == name
    np.testing.assert_array_equal(preprocess(images, description), outputs)


def write_mean(home, name, seed):
    mean = np.random.default_rng(seed).uniform(-9, 255, (7, 6, 3)).astype(np.float32)
    return mean, statistics_file.write_mean(home / "statistics", name, mean).stem


def test_mean_subtracts_the_mean(home):
    mean, name = write_mean(home, "some", 0)
    images = np.random.default_rng(2).integers(0, 256, (5, 7, 6, 3), "uint8")
    for statistics in ("some", name):
        outputs = preprocess(images, {"kind": "mean", "statistics": statistics})
        np.testing.assert_allclose(outputs, images - np.float64(mean), atol=1e-4)


def test_gcn_mean_subtracts_the_mean_of_normalised_images(home):
    write_mean(home, "some", 0)
    mean, name = write_mean(home, "some_gcn", 1)
    images = np.random.default_rng(2).integers(0, 256, (5, 7, 6, 3), "uint8")
    x = images.reshape(5, -1).astype(np.float64)
    x -= x.mean(1, keepdims=True)
    x *= 55 / np.linalg.norm(x, axis=1, keepdims=True)
    x = x.reshape(images.shape)
    np.testing.assert_allclose(preprocess(images, {"kind": "gcn"}), x, atol=1e-4)
    for statistics in ("some", name):
        outputs = preprocess(images, {"kind": "gcn_mean", "statistics": statistics})
        np.testing.assert_allclose(outputs, x - mean, atol=1e-4)


@pytest.mark.parametrize(
    # `raw` is the shape of the image before preprocessing.
    ("description", "shape", "raw", "names"),
    [
        (None, (5, 4, 2), (5, 4, 2), []),
        ({"kind": "rescale", "scale": 0.5}, (5, 4, 2), (5, 4, 2), ["rescale"]),
        (CROP, (1, 2, 3), (2, 3, 3), ["subtract_mean", "centre_crop"]),
    ],
)
def test_image_input_returns_raw_and_preprocessed_images(mean_name, description, shape, raw, names):
    image, x = image_input(shape, description)
    assert (image.name, image.shape) == ("image", (None, *raw))
    assert x.shape == (None, *shape) and (x is image) == (not names)
    model = keras.Model(image, x)
    assert [layer.name for layer in model.layers] == ["image", *names]
    images = np.random.default_rng(0).integers(0, 256, (3, *raw), "uint8")
    expected = preprocess(images, description) if description else images
    np.testing.assert_allclose(model(images), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("description", "shape"),
    [
        (CROP, (2, 3, 3)),
        (CROP, (None, None, 3)),
        ({"kind": "rescale", "scale": 1, "offset": [0, 1]}, (2, 3, 3)),
    ],
)
def test_image_input_refuses_another_shape(mean_name, description, shape):
    with pytest.raises(errors.UsageError, match="preprocessing=False"):
        image_input(shape, description)


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
@pytest.mark.parametrize("count", [0, 11])
@pytest.mark.parametrize("values", [17, 5 * 18, 2**22])
def test_preprocess_is_independent_of_the_number_of_values_processed_at_once(
    mean_name, mean, monkeypatch, values, count, dtype
):
    monkeypatch.setattr(preprocessing, "_VALUES", values)
    images = np.random.default_rng(0).integers(0, 256, (count, 2, 3, 3)).astype(dtype)
    crops = preprocess(images, CROP)
    assert (type(crops), crops.dtype) == (np.ndarray, np.float32)
    expected = subtract_and_crop(images, mean, 1, 2)
    np.testing.assert_allclose(crops, expected, atol=1e-5)
