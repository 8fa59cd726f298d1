"""get_model for the ImageNet network: means, crops, sizes of images, weight files."""

import json
import re

import numpy as np
import pytest
from published_weights import signed

import elu_zoo
from elu_zoo import activations, errors, files, initializers, registry
from elu_zoo.layers import statistics_file
from elu_zoo.weights import hdf5, manifest

NET = "elu_imagenet_15"
SMALL = {"width": 0.01, "num_classes": 3, "spp_levels": (1, 2)}


@pytest.fixture
def mean(tmp_path, monkeypatch):
    """The mean of 256 x 256 images, in a new $ELU_ZOO_HOME."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path))
    mean = np.random.default_rng(0).uniform(90, 160, (256, 256, 3)).astype(np.float32)
    for name in ("imagenet2012", "photos"):
        shift = name == "photos"  # 1 for photos, so that the means differ
        statistics_file.write_mean(tmp_path / "statistics", name, mean + shift)
    return mean


@pytest.fixture
def images():
    return np.random.default_rng(1).integers(0, 256, (2, 256, 256, 3), "uint8")


@pytest.fixture
def trained(mean, tmp_path):
    """A small network and its weight file, beside the entry."""
    model = elu_zoo.get_model(NET, preprocessing=True, seed=3, **SMALL)
    for weight in model.weights:
        weight.assign(np.asarray(weight).astype(np.float16))
    arguments = {
        **SMALL,
        "activation": activations.describe("elu"),
        "batch_norm": False,
        "input_shape": [224, 224, 3],
        "stem_stride": 2,
    }
    content = hdf5.write(model)
    sha256 = files.sha256(content)
    entry = dict.fromkeys(manifest.FIELDS, "") | {
        "format": manifest.FORMAT,
        "tag": manifest.tag(NET, "imagenet2012", arguments, sha256),
        "model": NET,
        "dataset": "imagenet2012",
        "arguments": arguments,
        "preprocessing": {
            **registry.entry(NET).preprocessing,
            "statistics": model.get_layer("subtract_mean").statistics,
        },
        "classes": ["a", "b", "c"],
        "sha256": sha256,
        "sources": [],
    }
    path = tmp_path / "net.weights.h5"
    path.write_bytes(content)
    (tmp_path / "net.json").write_text(json.dumps(signed(entry)))
    return model, path


def test_the_mean_is_subtracted_from_raw_images(mean, images):
    raw, bare = (elu_zoo.get_model(NET, preprocessing=x, **SMALL) for x in (True, False))
    assert raw.input_shape == (None, 256, 256, 3)
    centres = (images - mean)[:, 16:240, 16:240]
    np.testing.assert_allclose(elu_zoo.preprocess_input(images, NET), centres, atol=1e-4)
    logits = np.asarray(raw(images))
    np.testing.assert_allclose(logits, bare(centres), atol=1e-5 * np.abs(logits).max())
    photos = elu_zoo.get_model(NET, preprocessing="photos", **SMALL)
    assert "photos_mean-" in photos.get_layer("subtract_mean").statistics
    np.testing.assert_allclose(photos(images), bare(centres - 1), atol=1e-5 * np.abs(logits).max())


def test_weights_are_loaded_with_their_arguments(trained, images):
    model, path = trained
    loaded = elu_zoo.get_model(NET, weights=path)
    np.testing.assert_array_equal(loaded(images), model(images))
    assert loaded.get_layer("pyramid").levels == (1, 2)
    same = elu_zoo.get_model(NET, weights=path, spp_levels=(1, 2), preprocessing=True)
    np.testing.assert_array_equal(same(images), model(images))


def test_weights_fit_any_size(trained):
    model, path = trained
    shape = (97, 128, 3)
    other = elu_zoo.get_model(NET, weights=path, input_shape=shape, preprocessing=False)
    assert other.input_shape == (None, *shape)
    for value, expected in zip(other.weights, model.weights, strict=True):
        np.testing.assert_array_equal(np.asarray(value), np.asarray(expected))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"input_shape": (128, 128, 3)}, r"fit crops of 224 x 224 .*128.*ing=False"),
        ({"spp_levels": (1, 2, 4)}, r"with spp_levels=\[1, 2\]. Received.*\[1, 2, 4\]"),
        ({"preprocessing": "photos"}, "trained with .*Received: preprocessing='photo"),
    ],
    ids=repr,
)
def test_arguments_that_differ_from_weights_are_refused(trained, arguments, message):
    with pytest.raises(errors.UsageError, match=message):
        elu_zoo.get_model(NET, weights=trained[1], **arguments)


@pytest.mark.parametrize("shape", [None, (97, 128, 3), (None, None, 3)])
def test_channel_means_replace_a_missing_mean_image(tmp_path, monkeypatch, images, shape):
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path))
    raw = elu_zoo.get_model(NET, input_shape=shape, **SMALL)
    assert raw.input_shape == (None, *(shape or (224, 224, 3)))
    images = images[:, : raw.input_shape[1], : raw.input_shape[2]]
    bare = elu_zoo.get_model(NET, input_shape=shape, preprocessing=False, **SMALL)
    # RGB means of ILSVRC-2012 from the deploy files of the VGG networks.
    pixels = (images - np.array([123.68, 116.779, 103.939])).astype("float32")
    expected = np.asarray(bare(pixels))
    limit = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(raw(images), expected, rtol=0, atol=limit)
    np.testing.assert_allclose(elu_zoo.preprocess_input(images, NET), pixels, atol=1e-4)


def test_a_missing_mean_is_an_error_before_weights_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path))
    monkeypatch.setattr(initializers.FanInNormal, "__call__", None)
    with pytest.raises(errors.NotFoundError) as caught:
        elu_zoo.get_model(NET, preprocessing="imagenet2012")
    assert re.fullmatch(
        f"{NET} .* not on this machine. There is no mean image 'imagenet2012'.* "
        "Training on a data set writes its statistics file .* Pass preprocess.*",
        str(caught.value),
    )
