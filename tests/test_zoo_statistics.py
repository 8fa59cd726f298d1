"""get_model with statistics of a data set: whitening, means, crops, sizes of images."""

import numpy as np
import published_weights as made_weights
import pytest

import elu_zoo
from elu_zoo import activations, errors, initializers, registry
from elu_zoo.layers import statistics_file

CIFAR, IMAGENET = "elu_cifar_11", "elu_imagenet_15"
WHITENED = {"kind": "gcn_zca", "statistics": "cifar10"}
SMALL = {
    CIFAR: {"width": 0.05, "num_classes": 10},
    IMAGENET: {"width": 0.01, "num_classes": 10, "spp_levels": (1, 2)},
}


def random_images(side):
    return np.random.default_rng(0).integers(0, 256, (3, side, side, 3), "uint8")


def assert_close(first, second):
    limit = 1e-5 * np.abs(np.asarray(second)).max()
    np.testing.assert_allclose(np.asarray(first), np.asarray(second), rtol=0, atol=limit)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A new $ELU_ZOO_HOME with the mean of images of 256 x 256 pixels."""
    folder = tmp_path_factory.mktemp("home")
    mean = np.random.default_rng(0).uniform(90, 160, (256, 256, 3)).astype(np.float32)
    statistics_file.write_mean(folder / "statistics", "imagenet2012", mean)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELU_ZOO_HOME", str(folder))
        yield


@pytest.fixture(scope="module")
def trained(home, tmp_path_factory):
    """Networks with float16 weights and paths of their files, beside the entries, by name."""
    found = {}
    for name, dataset, layer, others in (
        (CIFAR, "cifar10", "whiten", {"input_shape": [32, 32, 3], "padding": "caffe"}),
        (IMAGENET, "imagenet2012", "subtract_mean", {"input_shape": [224, 224, 3]}),
    ):
        model = elu_zoo.get_model(name, preprocessing=dataset, seed=3, **SMALL[name])
        for weight in model.weights:
            weight.assign(np.asarray(weight).astype(np.float16))
        statistics = {"statistics": model.get_layer(layer).statistics}
        changes = {"preprocessing": registry.entry(name).preprocessing | statistics}
        changes["classes"] = made_weights.CLASSES
        elu = {"activation": activations.describe("elu"), "batch_norm": False}
        arguments = {**SMALL[name], **elu, **others}
        made = made_weights.describe(model, dataset, arguments, **changes)
        found[name] = model, made_weights.write(tmp_path_factory.mktemp("run"), *made)
    return found


@pytest.mark.parametrize(
    ("preprocessing", "statistics"), [(True, "cifar100_zca-"), (WHITENED, "cifar10_zca-")]
)
def test_whitening_uses_the_statistics_of_a_data_set(preprocessing, statistics):
    model = elu_zoo.get_model(CIFAR, preprocessing=preprocessing, **SMALL[CIFAR])
    assert [layer.name for layer in model.layers[1:3]] == ["normalize", "whiten"]
    used = model.get_layer("whiten").statistics
    assert used.startswith(statistics)
    images = random_images(32)
    x = elu_zoo.layers.preprocess(images, {"kind": "gcn_zca", "statistics": used})
    assert 0.2 < x.std() < 5
    bare = elu_zoo.get_model(CIFAR, **SMALL[CIFAR], preprocessing=False)
    assert_close(model(images), bare(x))


@pytest.mark.parametrize("shape", [None, (97, 128, 3), (None, None, 3)])
def test_an_untrained_model_subtracts_channel_means(home, shape):
    raw, bare = (
        elu_zoo.get_model(IMAGENET, input_shape=shape, preprocessing=x, **SMALL[IMAGENET])
        for x in (True, False)
    )
    assert raw.input_shape == (None, *(shape or (224, 224, 3)))
    images = random_images(256)[:, : raw.input_shape[1], : raw.input_shape[2]]
    # RGB means of ILSVRC-2012 from the deploy files of the VGG networks.
    pixels = (images - np.array([123.68, 116.779, 103.939])).astype("float32")
    assert_close(raw(images), bare(pixels))
    np.testing.assert_allclose(elu_zoo.preprocess_input(images, IMAGENET), pixels, atol=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_weights_are_loaded_with_their_arguments_and_statistics(trained, name):
    model, path = trained[name]
    images = random_images(model.input_shape[1])
    for arguments in ({}, {**SMALL[name], "preprocessing": True}):
        loaded = elu_zoo.get_model(name, weights=path, **arguments)
        np.testing.assert_array_equal(loaded(images), model(images))


def test_weights_fit_any_size(trained):
    model, path = trained[IMAGENET]
    shape = (97, 128, 3)
    other = elu_zoo.get_model(IMAGENET, weights=path, input_shape=shape, preprocessing=False)
    assert other.input_shape == (None, *shape)
    for value, expected in zip(other.weights, model.weights, strict=True):
        np.testing.assert_array_equal(np.asarray(value), np.asarray(expected))


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (CIFAR, {"input_shape": (48, 48, 1)}, r"=\[32, 32, 3\]. .*\[48, 48, 1\].*other weights\.$"),
        (CIFAR, {"padding": "same"}, "with padding=caffe. Received: padding=same"),
        (CIFAR, {"preprocessing": "cifar100"}, "with .*cifar10_zca.*='cifar100'. Remove the"),
        (IMAGENET, {"input_shape": (128, 128, 3)}, "224.*Received.*128, 128.*processing=False"),
        (IMAGENET, {"spp_levels": (1, 2, 4)}, r"with spp_levels=\[1, 2\]. Received.*\[1, 2, 4\]"),
    ],
)
def test_arguments_that_differ_from_weights_are_refused(trained, name, arguments, words):
    with pytest.raises(errors.UsageError, match=words):
        elu_zoo.get_model(name, weights=trained[name][1], **arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("mnist_mlp_8x128", {"preprocessing": "mnist"}, "no statistics of a data set"),
        (CIFAR, {"preprocessing": "cifar_10"}, "'cifar_10'. Did you mean 'cifar10"),
        (CIFAR, {"preprocessing": {"kind": "gcn_zca"}}, "an entry 'statistics'"),
        (CIFAR, {"input_shape": (48, 48, 3)}, "cifar100_zca-.* Received.*48, 48.*processing=False"),
    ],
)
def test_wrong_preprocessing_is_refused(name, arguments, words):
    with pytest.raises(errors.UsageError, match=words):
        elu_zoo.get_model(name, width=0.02, **arguments)


def test_a_missing_mean_is_an_error_before_weights_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path))
    monkeypatch.setattr(initializers.FanInNormal, "__call__", None)
    words = "no mean image 'imagenet2012'.*writes its.* Pass prepro"
    with pytest.raises(errors.NotFoundError, match=words):
        elu_zoo.get_model(IMAGENET, preprocessing="imagenet2012")
