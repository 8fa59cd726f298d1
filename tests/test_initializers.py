"""Initializers: draws of NumPy's Philox generator, and seeds of layers."""

import hashlib
import math

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import initializers
from elu_zoo.initializers import FanInNormal, HeUniform, Normal, Uniform


def test_the_layer_seed_is_a_hash_of_seed_and_name():
    for seed in (*range(20), 2**40):  # 20 digests, of which some have the top bit
        digest = hashlib.sha256(f"{seed}/dense1".encode()).hexdigest()
        assert initializers.layer_seed(seed, "dense1") == int(digest[:8], 16) % 2**31


@pytest.mark.parametrize("shape", [(2, 2, 16, 32), (5, 2)])
@pytest.mark.parametrize(
    ("make", "draws", "scale"),
    [
        (HeUniform, "random", lambda fan_in: math.sqrt(6 / fan_in)),
        (lambda seed: Uniform(0.005, seed), "random", lambda _: 0.005),
        (lambda seed: Normal(3.0, seed), "standard_normal", lambda _: 3.0),
        (lambda seed: FanInNormal(2.0, seed), "standard_normal", lambda n: math.sqrt(2 / n)),
    ],
)
def test_draws_are_philox_numbers_of_the_expected_scale(make, draws, scale, shape):
    drawn = np.asarray(make(7)(shape))
    assert drawn.dtype == np.float32
    expected = getattr(np.random.Generator(np.random.Philox(7)), draws)(shape)
    expected = 2 * expected - 1 if draws == "random" else expected
    np.testing.assert_allclose(drawn, expected * scale(math.prod(shape[:-1])), rtol=1e-6)
    np.testing.assert_array_equal(make(7)(shape), drawn)
    assert not (np.asarray(make(8)(shape)) == drawn).any()


def test_draws_equal_recorded_numbers():
    """Paired runs depend on these draws, which another NumPy version could change."""
    expected = [-1.403564, 0.8484195, 1.30868, -1.223264, 0.225713, 0.0962039]
    np.testing.assert_allclose(Normal(1.0, 7)((1, 6))[0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "initializer",
    [HeUniform(7), FanInNormal(2, 7), Normal(0.05, 7), Uniform(0.005, 7)],
)
def test_initializers_are_serialized_and_keep_the_dtype(initializer):
    drawn = initializer((8, 4), dtype="bfloat16")
    assert keras.backend.standardize_dtype(drawn.dtype) == "bfloat16"
    restored = keras.initializers.get(keras.saving.serialize_keras_object(initializer))
    assert type(restored) is type(initializer)
    assert restored.get_config() == initializer.get_config()
    np.testing.assert_array_equal(restored((8, 4)), initializer((8, 4)))


def test_networks_draw_by_layer_name():
    model = elu_zoo.get_model("mnist_mlp_8x128", width=0.25, seed=5, preprocessing=False)
    for name in ("dense1", "dense2", "dense3", "classifier"):
        kernel = model.get_layer(name).kernel
        expected = HeUniform(initializers.layer_seed(5, name))(kernel.shape)
        np.testing.assert_array_equal(np.asarray(kernel), expected)
