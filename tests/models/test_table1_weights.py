"""The rivals of table 1: how their weights start, shrink and are bounded."""

import functools
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

import elu_zoo

NETS = "alexnet_cifar", "nin", "dsn", "maxout", "allcnn_c", "highway_19", "fmp"
each_net = pytest.mark.parametrize("name", NETS)


def kernels(model):
    return {x.name: np.asarray(x.kernel) for x in model.layers if hasattr(x, "kernel")}


def biases(model):
    return {x.name: np.asarray(x.bias) for x in model.layers if hasattr(x, "kernel")}


def fan_in(kernel):
    return math.prod(kernel.shape[:-1])


def check_normal(kernel, deviation):
    assert abs(kernel.mean()) < 5 * deviation / math.sqrt(kernel.size)
    error = abs(kernel.astype(np.float64).std() / deviation - 1)
    assert error < 5 / math.sqrt(2 * kernel.size)
    assert np.abs(kernel).max() > 2.5 * deviation  # not truncated


def check_uniform(kernel, limit):
    assert 0.98 * limit < np.abs(kernel).max() <= limit * (1 + 1e-6)
    error = abs(kernel.astype(np.float64).std() * math.sqrt(3) / limit - 1)
    assert error < 5 / math.sqrt(2 * kernel.size)


@pytest.mark.parametrize(
    ("name", "arguments", "deviations"),
    [
        ("alexnet_cifar", {}, {"conv1": 1e-4, "": 0.01}),
        ("nin", {}, {"": 0.05}),
        (
            "nin",
            {"deviations": (0.001, 0.01, 0.05)},
            {"block1_conv": 0.001, "block1_cccp": 0.01, "": 0.05},
        ),
        ("dsn", {}, {"": 0.05}),
        ("highway_19", {}, {"conv1": 0.05, "classifier": 0.05, "": None}),
        (
            *("highway_19", {"classifier_deviation": 0.1}),
            {"conv1": 0.05, "classifier": 0.1, "": None},
        ),
        (
            *("highway_19", {"first_deviation": 1.0}),
            {"conv1": 1.0, "classifier": 0.05, "": None},
        ),
    ],
)
def test_normal(name, arguments, deviations):
    """The first entry that a layer's name begins with is its deviation; None: He's."""
    checked = 0
    for layer, kernel in kernels(
        elu_zoo.get_model(name, **arguments, preprocessing=False)
    ).items():
        for start, deviation in deviations.items():
            if layer == start or (start != "conv1" and layer.startswith(start)):
                check_normal(kernel, deviation or math.sqrt(2 / fan_in(kernel)))
                checked += 1
                break
    assert checked == {"alexnet_cifar": 4, "highway_19": 33}.get(name, 9)


@pytest.mark.parametrize("name, layers", [("maxout", 5), ("allcnn_c", 9)])
def test_uniform(name, layers):
    """Caffe's xavier, but of maxout U(-.005, .005)."""
    drawn = kernels(elu_zoo.get_model(name, preprocessing=False))
    assert len(drawn) == layers
    for kernel in drawn.values():
        xavier = math.sqrt(3 / fan_in(kernel))
        check_uniform(kernel, 0.005 if name == "maxout" else xavier)


def test_uniform_of_the_heads_of_dsn():
    """On the limits that the log of its authors' run on CIFAR-10 shows."""
    drawn = kernels(elu_zoo.get_model("dsn", auxiliary_heads=True, preprocessing=False))
    for head, limit in ("1", 0.00123526), ("2", 0.00247053), ("3", 0.00494106):
        check_uniform(drawn[f"head{head}"], limit * (1 + 5e-6))  # six digits of it


def test_uniform_of_fmp():
    """As many pixels as pooling takes in make the weight of what goes back."""
    for name, kernel in kernels(
        elu_zoo.get_model("fmp", filters=32, preprocessing=False)
    ).items():
        alpha = {"conv13": 4, "conv14": 1, "classifier": 1}.get(name, 2 ** (4 / 3))
        limit = math.sqrt(6 / (fan_in(kernel) + kernel.shape[-1] * alpha))
        check_uniform(kernel, limit)


@each_net
def test_biases(name):
    for layer, bias in biases(
        elu_zoo.get_model(name, width=0.05, preprocessing=False)
    ).items():
        assert (bias == (-2 if layer.endswith("_gate") else 0)).all()


def test_gate_bias():
    model = elu_zoo.get_model(
        "highway_19", width=0.05, gate_bias=-1, preprocessing=False
    )
    found = {layer: bias for layer, bias in biases(model).items() if bias.any()}
    plain = {1, 6, 12, 18}
    assert set(found) == {f"conv{i}_gate" for i in range(1, 18) if i not in plain}
    assert all((bias == -1).all() for bias in found.values())


@pytest.mark.parametrize(
    "changes",
    [
        {"activation": "relu"},
        {"activation": {"name": "elu", "alpha": 0.5}},
        {"activation": "prelu", "batch_norm": True},
        {"activation": "rrelu"},
        {"conv_dtype": "bfloat16"},
    ],
)
@each_net
def test_equal_initial_weights(name, changes):
    expected = of_elu(name)
    found = kernels(
        elu_zoo.get_model(
            name, width=0.03, **{"preprocessing": False, "activation": "elu", **changes}
        )
    )
    assert list(found) == list(expected)
    for layer, kernel in found.items():
        np.testing.assert_array_equal(kernel, expected[layer], layer)


@functools.cache
def of_elu(name, seed=0):
    model = elu_zoo.get_model(
        name, activation="elu", width=0.03, seed=seed, preprocessing=False
    )
    return kernels(model)


@each_net
def test_another_seed(name):
    other = of_elu(name, seed=1)
    assert all((other[layer] != kernel).any() for layer, kernel in of_elu(name).items())


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
    expected, found = (
        kernels(elu_zoo.get_model(name, width=0.03, **x, preprocessing=False))
        for x in ({}, changes)
    )
    for layer, kernel in expected.items():
        np.testing.assert_array_equal(found[layer], kernel, layer)


# Penalties and bounds.


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("alexnet_cifar", {"kernel_decay": 0.004, "classifier_decay": 1.0}),
        ("nin", {"kernel_decay": 0.5}),
        ("dsn", {"kernel_decay": 0.5, "auxiliary_heads": True}),
        ("allcnn_c", {"kernel_decay": 0.5}),
        ("highway_19", {"kernel_decay": 0.5, "classifier_decay": 0.25}),
    ],
)
def test_decay(name, arguments):
    model = elu_zoo.get_model(
        name, width=0.03, batch_norm=True, **arguments, preprocessing=False
    )
    weights = model.trainable_variables
    with tf.GradientTape() as tape:
        penalty = sum(model.losses)
    gradients = tape.gradient(penalty, [w.value for w in weights])
    decayed = {w.path for w, g in zip(weights, gradients, strict=True) if g is not None}
    assert decayed == {f"{layer}/kernel" for layer in kernels(model)}
    for weight, gradient in zip(weights, gradients, strict=True):
        if gradient is not None:
            key = "classifier_decay" if "classifier" in weight.path else "kernel_decay"
            factor = arguments.get(key, arguments["kernel_decay"])
            np.testing.assert_allclose(gradient, factor * np.asarray(weight), rtol=1e-5)
    assert elu_zoo.get_model(name, width=0.03, preprocessing=False).losses == []


def test_bounds_of_maxout():
    bounds = {"h0": 0.9, "h1": 1.9365, "h2": 1.9365, "h3": 1.9, "classifier": 1.9365}
    model = elu_zoo.get_model(
        "maxout", width=0.03, constrained=True, preprocessing=False
    )
    for name, bound in bounds.items():
        layer = model.get_layer(name)
        shape = layer.kernel.shape
        long = np.random.default_rng(0).normal(0, 10, shape).astype(np.float32)
        long[..., 0] = 1e-4
        bounded = np.asarray(layer.kernel_constraint(long)).reshape(-1, shape[-1])
        norms = np.linalg.norm(bounded, axis=0)
        np.testing.assert_allclose(norms[1:], bound, rtol=1e-5)
        np.testing.assert_allclose(bounded[:, 0], 1e-4, rtol=1e-3)
    free = elu_zoo.get_model("maxout", width=0.03, preprocessing=False)
    assert {free.get_layer(name).kernel_constraint for name in bounds} == {None}


# Precision.


@each_net
def test_conv_dtype(name):
    model = elu_zoo.get_model(
        name, width=0.03, conv_dtype="bfloat16", preprocessing=False
    )
    halves = {x.name for x in model.layers if x.compute_dtype == "bfloat16"}
    own = keras.layers.Conv2D | keras.layers.ZeroPadding2D
    expected = {x.name for x in model.layers if isinstance(x, own)}
    assert halves == expected - {"classifier", "centre"}
    assert {w.dtype for w in model.weights if "seed" not in w.path} == {"float32"}
    assert model.output.dtype == "float32"


@each_net
def test_logits_stay_float32_under_a_users_own_policy(name):
    policy = keras.config.dtype_policy()
    arguments = {"auxiliary_heads": True} if name == "dsn" else {}
    try:
        keras.config.set_dtype_policy("mixed_bfloat16")
        model = elu_zoo.get_model(name, width=0.03, **arguments, preprocessing=False)
    finally:
        keras.config.set_dtype_policy(policy)
    assert model.layers[3].compute_dtype == "bfloat16"
    names = [layer.name for layer in model.layers]
    after = model.layers[names.index("classifier") :]
    assert {layer.compute_dtype for layer in after} == {"float32"}
    assert model(np.ones((1, 32, 32, 3), np.float32)).dtype == "float32"
