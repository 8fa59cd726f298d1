"""Promises of every network: initial weights, penalties, precision."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import registry

WIDTHS = {"mnist_mlp_8x128": 0.25, "mnist_autoencoder": 0.05, "elu_cifar_18": 0.02}
IMAGENET = {
    "width": 0.01, "input_shape": (32, 32, 3), "stem_stride": 1, "spp_levels": (1, 2)
}  # fmt: skip
CHANGES = (
    {"activation": "relu"},
    {"activation": {"name": "elu", "alpha": 0.5}},
    {"activation": "prelu", "batch_norm": True},
)
OF_STACKS = {"padding": "same", "dropout_placement": "all"}
each_network = pytest.mark.parametrize("name", registry.NETWORKS)


def small(name, **changes):
    arguments = IMAGENET if name == "elu_imagenet_15" else {"width": 0.03}
    if name in WIDTHS:
        arguments = {"width": WIDTHS[name]}
    arguments = {**arguments, "preprocessing": False, **changes}
    return elu_zoo.get_model(name, **arguments)


def kernels(model):
    return {x.name: np.asarray(x.kernel) for x in model.layers if hasattr(x, "kernel")}


@each_network
def test_equal_initial_weights(name):
    expected = kernels(small(name, activation="elu", seed=5))
    changes = [*CHANGES]
    if registry.entry(name).takes("conv_dtype"):
        changes.append({"activation": "elu", "conv_dtype": "bfloat16"})
    if registry.entry(name).is_phased:
        changes.append(OF_STACKS)
    for change in changes:
        found = kernels(small(name, seed=5, **change))
        assert list(found) == list(expected)
        for layer, kernel in found.items():
            np.testing.assert_array_equal(kernel, expected[layer], layer)


@each_network
def test_seeds_and_biases(name):
    first, second = small(name, activation="elu"), small(name, activation="elu", seed=6)
    others = kernels(second)
    for layer, kernel in kernels(first).items():
        assert (kernel != others[layer]).any(), layer
        bias = np.asarray(first.get_layer(layer).bias)
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
def test_equal_initial_weights_of_own_arguments(name, changes):
    found = kernels(small(name, **changes))
    for layer, kernel in kernels(small(name)).items():
        np.testing.assert_array_equal(found[layer], kernel, layer)


@each_network
def test_weights_fit_any_size(name):
    of_one_size = name in ("alexnet_cifar", "maxout") or name.startswith("mnist")
    assert registry.entry(name).any_size != of_one_size
    if of_one_size:
        return
    other = small(name, input_shape=(40, 56, 3))
    for value, expected in zip(other.weights, small(name).weights, strict=True):
        np.testing.assert_array_equal(np.asarray(value), np.asarray(expected))


@each_network
def test_kernel_decay(name):
    if not registry.entry(name).takes("kernel_decay"):
        return
    assert small(name).losses == []
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
    found = {weight.path: (weight, x) for weight, x in pairs if x is not None}
    assert found.keys() == {f"{layer}/kernel" for layer in kernels(model)}
    for path, (weight, gradient) in found.items():
        of_classifier = path == "classifier/kernel" and "classifier_decay" in changes
        expected = (0.25 if of_classifier else 0.5) * np.asarray(weight)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5)


@each_network
def test_conv_dtype(name):
    if not registry.entry(name).takes("conv_dtype"):
        return
    model = small(name, conv_dtype="bfloat16")
    halves = {x.name for x in model.layers if x.compute_dtype == "bfloat16"}
    of_convolutions = keras.layers.Conv2D | keras.layers.ZeroPadding2D
    expected = {x.name for x in model.layers if isinstance(x, of_convolutions)}
    assert halves == expected - {"classifier", "centre"}
    assert {w.dtype for w in model.weights if "seed" not in w.path} == {"float32"}
    assert model.output.dtype == "float32"


@each_network
def test_logits_are_float32_under_another_policy(name):
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = small(name, **({"auxiliary_heads": True} if name == "dsn" else {}))
    finally:
        keras.config.set_dtype_policy(policy)
    assert model.layers[3].compute_dtype == "bfloat16"
    names = [layer.name for layer in model.layers]
    last = "pixels" if "pixels" in names else "classifier"
    after = model.layers[names.index(last) :]
    assert {layer.compute_dtype for layer in after} == {"float32"}
    images = np.ones((1, *model.input_shape[1:]), np.float32)
    assert model(images).dtype == "float32"


@pytest.mark.parametrize("name", ["elu_cifar_11", "elu_cifar_18", "elu_imagenet_15"])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_initial_variances(name, scale):
    """The variance of initial kernels is scale / fan-in."""
    for layer, kernel in kernels(small(name, width=0.1, init_scale=scale)).items():
        fan_in = math.prod(kernel.shape[:-1])
        variance = np.mean(kernel.astype(np.float64) ** 2) * fan_in / scale
        assert abs(variance - 1) < 4 * math.sqrt(2 / kernel.size), layer
