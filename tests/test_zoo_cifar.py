"""get_model for the CIFAR networks: whitening, sizes of images, and weight files."""

import json

import numpy as np
import pytest
from published_weights import signed

import elu_zoo
from elu_zoo import activations, errors, files
from elu_zoo.weights import hdf5, manifest

NET = "elu_cifar_11"
SMALL = {"width": 0.05, "num_classes": 10}
WHITENED = {"kind": "gcn_zca", "statistics": "cifar10"}


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3), "uint8")


@pytest.fixture(scope="module")
def trained():
    """A small network with random weights that float16 represents exactly."""
    model = elu_zoo.get_model(NET, preprocessing="cifar10", **SMALL)
    draws = np.random.default_rng(1)
    for weight in model.weights:
        value = np.asarray(weight) + 0.1 * draws.standard_normal(weight.shape)
        weight.assign(value.astype(np.float16))
    return model


@pytest.fixture(scope="module")
def path(trained, tmp_path_factory):
    """The weight file of `trained`, beside its entry."""
    arguments = {
        **SMALL,
        "activation": activations.describe("elu"),
        "batch_norm": False,
        "input_shape": [32, 32, 3],
        "padding": "caffe",
    }
    content = hdf5.write(trained)
    sha256 = files.sha256(content)
    entry = dict.fromkeys(manifest.FIELDS, "") | {
        "format": manifest.FORMAT,
        "tag": manifest.tag(NET, "cifar10", arguments, sha256),
        "model": NET,
        "dataset": "cifar10",
        "arguments": arguments,
        "preprocessing": WHITENED | {"statistics": trained.get_layer("whiten").statistics},
        "classes": [f"class {i}" for i in range(10)],
        "sha256": sha256,
        "sources": [],
        "schedule": "paper",
        "config": {"train": {"loss": "softmax_cross_entropy"}},
    }
    path = tmp_path_factory.mktemp("weights") / (entry["tag"] + manifest.SUFFIX)
    path.write_bytes(content)
    path.with_name(entry["tag"] + ".json").write_text(json.dumps(signed(entry)))
    return path


@pytest.mark.parametrize(
    ("preprocessing", "statistics"),
    [
        (True, "cifar100_zca-"),
        (WHITENED, "cifar10_zca-"),
    ],
)
def test_whitening_uses_the_statistics_of_a_data_set(preprocessing, statistics, images):
    model = elu_zoo.get_model(NET, preprocessing=preprocessing, **SMALL)
    assert [layer.name for layer in model.layers[1:3]] == ["normalize", "whiten"]
    used = model.get_layer("whiten").statistics
    assert used.startswith(statistics)
    x = elu_zoo.layers.preprocess(images, {"kind": "gcn_zca", "statistics": used})
    assert 0.2 < x.std() < 5
    bare = elu_zoo.get_model(NET, **SMALL, preprocessing=False)
    np.testing.assert_allclose(np.asarray(model(images)), np.asarray(bare(x)), atol=1e-5)


def test_a_description_replaces_whitening(images):
    description = {"kind": "rescale", "scale": 1 / 255}
    model = elu_zoo.get_model(NET, preprocessing=description, **SMALL)
    bare = elu_zoo.get_model(NET, preprocessing=False, **SMALL)
    x = images.astype(np.float32) / 255
    np.testing.assert_allclose(np.asarray(model(images)), np.asarray(bare(x)), atol=1e-5)
    assert "whiten" not in [layer.name for layer in model.layers]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("mnist_mlp_8x128", {"preprocessing": "mnist"}, "no statistics of a data set"),
        (NET, {"preprocessing": "cifar_10"}, "'cifar_10'. Did you mean 'cifar10"),
        (NET, {"preprocessing": {"kind": "gcn_zca"}}, "an entry 'statistics'"),
        (NET, {"input_shape": (48, 48, 3)}, r"of cifar100 fit images of 32 x 32 .*ing=False"),
    ],
)
def test_wrong_preprocessing_is_refused(name, arguments, message):
    with pytest.raises(errors.UsageError, match=message):
        elu_zoo.get_model(name, width=0.02, **arguments)


def test_models_with_weights_have_the_whitening_of_the_weights(trained, path, images):
    model = elu_zoo.get_model(NET, weights=path)
    used = [m.get_layer("whiten").statistics for m in (model, trained)]
    assert used[0] == used[1]
    np.testing.assert_array_equal(np.asarray(model(images)), np.asarray(trained(images)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"input_shape": (48, 48, 1)}, r"=\[48, 48, 3\]. Received: .*\[48, 48, 1\]"),
        ({"padding": "same"}, "with padding=caffe. Received: padding=same"),
        ({"preprocessing": "cifar100"}, "with .*cifar10_zca.*='cifar100'. Remove the"),
        ({"preprocessing": {"kind": "rescale", "scale": 1}}, "trained with .*rescale"),
        ({"input_shape": (48, 48, 3)}, "of cifar10_zca-.* of 32 x 32 .*processing=False"),
    ],
)
def test_arguments_that_differ_from_weights_are_refused(path, arguments, message):
    with pytest.raises(errors.UsageError, match=message):
        elu_zoo.get_model(NET, weights=path, **arguments)
