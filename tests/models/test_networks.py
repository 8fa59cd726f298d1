"""Initial weights, kernel decay and image sizes are tested for every network."""

import functools
import math
import re

import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import registry
from elu_zoo.initializers import layer_seed
from elu_zoo.models.building import BuilderArguments

# network: a width at which the network is built quickly; 0.03 for the others.
WIDTHS = {"mnist_mlp_8x128": 0.25, "mnist_autoencoder": 0.05, "elu_cifar_18": 0.02}
IMAGENET = {
    "width": 0.01, "input_shape": (32, 32, 3), "stem_stride": 1, "spp_levels": (1, 2)
}  # fmt: skip
# Changes of arguments, and changes that are made too if the network takes their arguments.
CHANGES = (
    ({"activation": "rrelu"}, {}),
    ({"activation": {"name": "elu", "alpha": 0.5}}, {"padding": "same"}),
    ({"activation": "prelu", "batch_norm": True}, {"dropout_placement": "all"}),
)
LARGE = "dsn", "elu_cifar_18", "elu_imagenet_15", "fmp", "highway_19"


def those(fits=lambda network: True):
    """Parametrizes a test by the networks that fit; those of LARGE are slow."""
    names = [name for name in registry.network_modules() if fits(registry.entry(name))]
    params = [pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in names]
    return pytest.mark.parametrize("name", params)


each_network = those()


def small(name, **changes):
    arguments = IMAGENET if name == "elu_imagenet_15" else {"width": 0.03}
    if name in WIDTHS:
        arguments = {"width": WIDTHS[name]}
    arguments = {**arguments, "preprocessing": False, **changes}
    return elu_zoo.get_model(name, **arguments)


@each_network
def test_type_checkers_know_the_arguments(name):
    own = registry.entry(name).parameters.keys() - {"preprocessing"}
    assert own <= BuilderArguments.__annotations__.keys()


@functools.cache
def usual(name):
    """The network with default arguments, which tests must not change."""
    return small(name, activation="elu")


def kernels(model):
    return {x.name: np.asarray(x.kernel) for x in model.layers if hasattr(x, "kernel")}


def check_seeds(model, seed):
    """Checks the seeds of layers that draw in training, which make runs paired."""
    seeds = {x.name: x.seed for x in model.layers if hasattr(x, "seed")}
    assert seeds == {name: layer_seed(seed, name) for name in seeds}


@each_network
def test_initial_weights_and_seeds_do_not_depend_on_activation_and_norm(name):
    expected = kernels(usual(name))
    for change, others in CHANGES:
        taken = {k: v for k, v in others.items() if registry.entry(name).takes(k)}
        model = small(name, **change, **taken, seed=0)
        check_seeds(model, 0)
        changed = kernels(model)
        assert list(changed) == list(expected)
        for layer, kernel in changed.items():
            np.testing.assert_array_equal(kernel, expected[layer], layer)


@each_network
def test_initial_kernels_depend_on_the_seed_and_initial_biases_do_not(name):
    model = usual(name)
    other = small(name, activation="elu", seed=6)
    check_seeds(other, 6)
    kernels_of_seed_6 = kernels(other)
    for layer, kernel in kernels(model).items():
        assert (kernel != kernels_of_seed_6[layer]).any(), layer
        bias = np.asarray(model.get_layer(layer).bias)
        assert (bias == (-2 if layer.endswith("_gate") else 0)).all(), layer


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("dsn", {"auxiliary_heads": True}),
        ("maxout", {"batch_norm": True}),
        ("maxout", {"constrained": True}),
        ("fmp", {"regions": "random"}),
    ],
)
def test_initial_weights_do_not_depend_on_arguments_of_single_networks(name, changes):
    changed = kernels(small(name, **changes))
    for layer, kernel in kernels(small(name)).items():
        np.testing.assert_array_equal(changed[layer], kernel, layer)


@each_network
def test_weights_do_not_depend_on_the_image_size_of_a_network_for_any_size(name):
    expected = usual(name)
    model = small(name, activation="elu", input_shape=(40, 56, expected.input_shape[-1]))
    pairs = list(zip(model.weights, expected.weights, strict=True))
    same = all(value.shape == expected.shape for value, expected in pairs)
    assert registry.entry(name).any_size == same, "any_size of register_model"
    for value, expected in pairs if same else ():
        np.testing.assert_array_equal(np.asarray(value), np.asarray(expected))


@those(lambda network: network.name != "fmp")  # whose dropout scales maps at inference
def test_arguments_that_act_in_training_only_are_registered(name):
    names = re.compile("dropout|.*decay|init_scale|.*deviations?|constrained|auxiliary_heads")
    of_training = set(filter(names.fullmatch, registry.entry(name).parameters))
    assert of_training == {*registry.entry(name).training_only}


@those(lambda network: network.any_size and network.name != "fmp")
def test_one_model_takes_images_of_any_size(name):
    model = small(name, input_shape=(None, None, 3))
    graph = tf.function(model, input_signature=[tf.TensorSpec(model.input_shape)])
    for size in (32, 32), (35, 50):
        images = np.random.default_rng(0).normal(size=(2, *size, 3)).astype("float32")
        expected = np.asarray(small(name, input_shape=(*size, 3))(images))
        limit = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(graph(images), expected, rtol=0, atol=limit)


@those(lambda network: network.takes("kernel_decay"))
def test_the_gradient_of_the_kernel_penalty_is_the_decay_times_the_kernel(name):
    assert usual(name).losses == []
    changes = {"kernel_decay": 0.5, "batch_norm": True}
    if registry.entry(name).takes("classifier_decay"):
        changes["classifier_decay"] = 0.25
    if name == "dsn":
        changes["auxiliary_heads"] = True
    model = small(name, **changes)
    weights = model.trainable_variables
    with tf.GradientTape() as tape:
        penalty = sum(model.losses)
    gradients = tape.gradient(penalty, [weight.value for weight in weights])
    pairs = zip(weights, gradients, strict=True)
    decayed = {weight.path: (weight, x) for weight, x in pairs if x is not None}
    assert decayed.keys() == {f"{layer}/kernel" for layer in kernels(model)}
    for path, (weight, gradient) in decayed.items():
        is_classifier = path == "classifier/kernel" and "classifier_decay" in changes
        expected = (0.25 if is_classifier else 0.5) * np.asarray(weight)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["elu_cifar_11", "elu_cifar_18", "elu_imagenet_15"])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_variance_of_initial_kernels_is_the_scale_over_fan_in(name, scale):
    for layer, kernel in kernels(small(name, width=0.1, init_scale=scale)).items():
        fan_in = math.prod(kernel.shape[:-1])
        variance = np.mean(kernel.astype(np.float64) ** 2) * fan_in / scale
        assert abs(variance - 1) < 4 * math.sqrt(2 / kernel.size), layer
