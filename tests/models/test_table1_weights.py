"""Networks of table 1: initial weights and norm constraints as their authors have."""

import math

import numpy as np
import pytest

import elu_zoo


def kernels(model):
    return {x.name: np.asarray(x.kernel) for x in model.layers if hasattr(x, "kernel")}


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
        ("highway_19", {}, {"conv1": 1.0, "classifier": 0.05, "": None}),
        (
            *("highway_19", {"classifier_deviation": 0.1}),
            {"conv1": 1.0, "classifier": 0.1, "": None},
        ),
        (
            *("highway_19", {"first_deviation": 0.05}),
            {"conv1": 0.05, "classifier": 0.05, "": None},
        ),
    ],
)
def test_normal_initial_kernels(name, arguments, deviations):
    """`deviations`: standard deviation by prefix of names; None is sqrt(2 / fan_in)."""
    checked = 0
    for layer, kernel in kernels(elu_zoo.get_model(name, **arguments, preprocessing=False)).items():
        for prefix, deviation in deviations.items():
            if layer == prefix or (prefix != "conv1" and layer.startswith(prefix)):
                check_normal(kernel, deviation or math.sqrt(2 / fan_in(kernel)))
                checked += 1
                break
    assert checked == {"alexnet_cifar": 4, "highway_19": 33}.get(name, 9)


@pytest.mark.parametrize("name", ["alexnet_cifar", "nin", "dsn", "maxout"])
def test_init_scale_is_the_variance_of_kernels_times_fan_in(name):
    values = kernels(elu_zoo.get_model(name, init_scale=3.0, preprocessing=False))
    if name in ("alexnet_cifar", "maxout"):
        del values["classifier"]
    for kernel in values.values():
        check_normal(kernel, math.sqrt(3 / fan_in(kernel)))


@pytest.mark.parametrize("name, layers", [("maxout", 5), ("allcnn_c", 9)])
def test_uniform_initial_kernels(name, layers):
    """The limit is 0.005 in maxout, and sqrt(3 / fan_in) in allcnn_c."""
    values = kernels(elu_zoo.get_model(name, preprocessing=False))
    assert len(values) == layers
    for kernel in values.values():
        xavier = math.sqrt(3 / fan_in(kernel))
        check_uniform(kernel, 0.005 if name == "maxout" else xavier)


def test_initial_kernels_of_the_heads_of_dsn():
    """The limits of the uniform distributions are from the authors' log on CIFAR-10."""
    model = elu_zoo.get_model("dsn", auxiliary_heads=True, preprocessing=False)
    for head, limit in ("1", 0.00123526), ("2", 0.00247053), ("3", 0.00494106):
        kernel = kernels(model)[f"head{head}"]
        check_uniform(kernel, limit * (1 + 5e-6))  # the log rounds to six digits


def test_initial_kernels_of_fmp():
    """fan_out is the outputs times (kernel size / factor of the pooling) squared."""
    for name, kernel in kernels(elu_zoo.get_model("fmp", filters=32, preprocessing=False)).items():
        alpha = {"conv13": 4, "conv14": 1, "classifier": 1}.get(name, 2 ** (4 / 3))
        limit = math.sqrt(6 / (fan_in(kernel) + kernel.shape[-1] * alpha))
        check_uniform(kernel, limit)


def test_norm_constraints_of_maxout():
    bounds = {"h0": 0.9, "h1": 1.9365, "h2": 1.9365, "h3": 1.9, "classifier": 1.9365}
    model = elu_zoo.get_model("maxout", width=0.03, constrained=True, preprocessing=False)
    for name, bound in bounds.items():
        layer = model.get_layer(name)
        shape = layer.kernel.shape
        kernel = np.random.default_rng(0).normal(0, 10, shape).astype(np.float32)
        kernel[..., 0] = 1e-4
        bounded = np.asarray(layer.kernel_constraint(kernel)).reshape(-1, shape[-1])
        norms = np.linalg.norm(bounded, axis=0)
        np.testing.assert_allclose(norms[1:], bound, rtol=1e-5)
        np.testing.assert_allclose(bounded[:, 0], 1e-4, rtol=1e-3)
    model = elu_zoo.get_model("maxout", width=0.03, preprocessing=False)
    assert {model.get_layer(name).kernel_constraint for name in bounds} == {None}
