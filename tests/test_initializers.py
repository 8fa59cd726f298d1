"""Seeded weights: equal whatever the activation, process and backend."""

import hashlib
import importlib.util
import json
import math
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import activations
from elu_zoo.initializers import FanInNormal, HeUniform, Normal, Uniform, layer_seed

MODEL = "mnist_mlp_8x128"


def expected_seed(seed, layer):
    digest = hashlib.sha256(f"{seed}/{layer}".encode()).hexdigest()
    return int(digest[:8], 16) % 2**31


def kernels(model=MODEL, width=0.25, **arguments):
    """Kernel and bias of each dense layer or convolution, by its name."""
    model = elu_zoo.get_model(model, width=width, **arguments, preprocessing=False)
    return {
        layer.name: [np.asarray(w) for w in layer.weights]
        for layer in model.layers
        if isinstance(layer, keras.layers.Dense | keras.layers.Conv2D)
    }


def digests(model=MODEL, **arguments):
    return {
        name: [hashlib.sha256(w.tobytes()).hexdigest() for w in weights]
        for name, weights in kernels(model, **arguments).items()
    }


@pytest.mark.parametrize("layer", ["dense1", "classifier", "stack2_conv1"])
@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_layer_seed(seed, layer):
    assert layer_seed(seed, layer) == expected_seed(seed, layer) < 2**31


def test_the_top_bit_is_cleared():
    firsts = [hashlib.sha256(f"{s}/x".encode()).digest()[0] for s in range(20)]
    assert max(firsts) >= 128  # else no seed of this test would show it
    assert all(layer_seed(s, "x") < 2**31 for s in range(20))


@pytest.mark.parametrize("shape", [(784, 128), (3, 3, 16, 32), (5, 2)])
def test_draw(shape):
    fan_in = math.prod(shape) // shape[-1]
    uniform = np.random.Generator(np.random.Philox(7)).random(shape)
    bound = np.sqrt(6.0 / fan_in)
    expected = (-bound + 2 * bound * uniform).astype(np.float64)
    drawn = np.asarray(HeUniform(7)(shape))
    assert drawn.dtype == np.float32 and drawn.shape == shape
    np.testing.assert_allclose(drawn, expected, rtol=1e-5, atol=1e-7)
    assert np.abs(drawn).max() <= np.float32(bound)
    assert (np.asarray(HeUniform(7)(shape)) == drawn).all()
    assert not (np.asarray(HeUniform(8)(shape)) == drawn).any()


@pytest.mark.parametrize("shape", [(1000, 200), (3, 3, 64, 300)])
def test_distribution(shape):
    fan_in = math.prod(shape[:-1])
    bound = math.sqrt(6 / fan_in)
    drawn = np.asarray(HeUniform(1)(shape), np.float64).ravel()
    n = drawn.size
    # Four standard errors of the mean and of the variance of a uniform draw.
    assert abs(drawn.mean()) < 4 * math.sqrt(2 / fan_in / n)
    assert abs(drawn.var() / (2 / fan_in) - 1) < 4 * math.sqrt(0.8 / n)
    counts = np.histogram(drawn, 20, (-bound, bound))[0]
    assert counts.sum() == n and np.abs(counts / (n / 20) - 1).max() < 0.05


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("shape", [(784, 128), (2, 2, 16, 32), (5, 2)])
def test_normal_draw(shape, scale):
    normal = np.random.Generator(np.random.Philox(7)).standard_normal(shape)
    expected = normal * np.sqrt(scale * shape[-1] / math.prod(shape))
    drawn = np.asarray(FanInNormal(scale, 7)(shape))
    assert drawn.dtype == np.float32 and drawn.shape == shape
    np.testing.assert_allclose(drawn, expected, rtol=1e-6)
    assert (np.asarray(FanInNormal(scale, 7)(shape)) == drawn).all()
    assert not (np.asarray(FanInNormal(scale, 8)(shape)) == drawn).any()


GOLDEN_NORMAL = [-1.403564, 0.8484195, 1.30868, -1.223264, 0.225713, 0.0962039]


def test_golden_normal_draws():
    """NumPy does not promise to keep this stream; pairs of runs rest on it."""
    found = np.asarray(FanInNormal(1.0, 7)((1, 6)))[0]
    np.testing.assert_allclose(found, GOLDEN_NORMAL, rtol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("shape", [(1000, 200), (3, 3, 64, 300)])
def test_normal_distribution(shape, scale):
    drawn = np.asarray(FanInNormal(scale, 1)(shape), np.float64).ravel()
    drawn /= math.sqrt(scale / math.prod(shape[:-1]))
    # Four standard errors of the mean and of the variance of a normal draw.
    assert abs(drawn.mean()) < 4 / math.sqrt(drawn.size)
    assert abs(drawn.var() - 1) < 4 * math.sqrt(2 / drawn.size)
    # Not truncated: the tails have their share, within four standard errors.
    for limit, share in ((2.0, 0.0455), (2.5, 0.01242), (3.0, 0.0027)):
        found = (np.abs(drawn) > limit).mean()
        assert abs(found - share) < 4 * math.sqrt(share / drawn.size), limit


@pytest.mark.parametrize("shape", [(784, 128), (2, 2, 16, 32), (5, 2)])
def test_draws_of_a_given_width(shape):
    normal = np.random.Generator(np.random.Philox(7)).standard_normal(shape)
    uniform = 2 * np.random.Generator(np.random.Philox(7)).random(shape) - 1
    for cls, standard in ((Normal, normal), (Uniform, uniform)):
        for width in (0.005, 1, 3.0):
            drawn = np.asarray(cls(width, 7)(shape))
            assert drawn.dtype == np.float32 and drawn.shape == shape
            np.testing.assert_allclose(drawn, standard * width, rtol=1e-6)
            assert (np.asarray(cls(width, 7)(shape)) == drawn).all()
            assert not (np.asarray(cls(width, 8)(shape)) == drawn).any()


def test_golden_draws_of_a_given_width():
    """They are the streams of the others, at fan-in 1."""
    found = np.asarray(Normal(1.0, 7)((1, 6)))[0]
    np.testing.assert_allclose(found, GOLDEN_NORMAL, rtol=1e-6)
    found = np.asarray(Uniform(math.sqrt(6), 7)((1, 6)))
    np.testing.assert_array_equal(found, HeUniform(7)((1, 6)))


def test_distributions_of_a_given_width():
    normal = np.asarray(Normal(0.05, 1)((1000, 200)), np.float64) / 0.05
    uniform = np.asarray(Uniform(0.05, 1)((1000, 200)), np.float64) / 0.05
    # Four standard errors of the mean and of the variance.
    for drawn, variance, spread in ((normal, 1, 2), (uniform, 1 / 3, 0.8)):
        assert abs(drawn.mean()) < 4 * math.sqrt(variance / drawn.size)
        assert abs(drawn.var() / variance - 1) < 4 * math.sqrt(spread / drawn.size)
    assert 0.9999 < np.abs(uniform).max() <= 1
    # Not truncated.
    share = (np.abs(normal) > 3).mean()
    assert abs(share - 0.0027) < 4 * math.sqrt(0.0027 / normal.size)


@pytest.mark.parametrize(
    "initializer",
    [HeUniform(7), FanInNormal(2.0, 7), Normal(0.05, 7), Uniform(0.005, 7)],
)
def test_dtype_and_config(initializer):
    drawn = initializer((8, 4), dtype="bfloat16")
    assert keras.backend.standardize_dtype(drawn.dtype) == "bfloat16"
    again = keras.initializers.get(keras.saving.serialize_keras_object(initializer))
    assert type(again) is type(initializer)
    assert again.get_config() == initializer.get_config()
    assert (np.asarray(again((8, 4))) == np.asarray(initializer((8, 4)))).all()


def test_the_net_uses_them():
    for name, (kernel, bias) in kernels(seed=5).items():
        direct = HeUniform(expected_seed(5, name))(kernel.shape)
        assert (kernel == np.asarray(direct)).all() and (bias == 0).all(), name


@pytest.mark.parametrize("batch_norm", [False, True])
def test_equal_for_every_activation(batch_norm):
    reference = digests(seed=5)
    for activation in activations.names():
        found = digests(seed=5, activation=activation, batch_norm=batch_norm)
        assert found == reference, activation


def test_another_seed_differs():
    first, second = kernels(seed=5), kernels(seed=6)
    assert all((first[name][0] != second[name][0]).all() for name in first)


def test_layers_differ():
    weights = kernels(seed=5)
    assert (weights["dense2"][0] != weights["dense3"][0]).all()


PROGRAM = """
import hashlib, json, keras, numpy as np, elu_zoo
found = {}
for name, width in (("mnist_mlp_8x128", 0.25), ("elu_cifar_11", 0.1)):
    model = elu_zoo.get_model(name, width=width, seed=5, activation="relu")
    found[name] = {
        layer.name: [hashlib.sha256(np.asarray(w).tobytes()).hexdigest() for w in
        layer.weights] for layer in model.layers if layer.weights}
print(keras.backend.backend(), json.dumps(found))
"""


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
@pytest.mark.slow
def test_another_process(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=True,
    )
    used, _, found = result.stdout.strip().splitlines()[-1].partition(" ")
    assert used == backend
    assert json.loads(found) == {
        MODEL: digests(seed=5),
        "elu_cifar_11": digests("elu_cifar_11", width=0.1, seed=5),
    }
