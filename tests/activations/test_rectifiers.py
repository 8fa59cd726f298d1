"""The rectifiers: fixed, learned and random slopes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.activations.prelu import PReLU
from elu_zoo.activations.rectifiers import LeakyReLU, ShiftedReLU, VeryLeakyReLU
from elu_zoo.activations.rrelu import RReLU

# Keras 3.15.1 converts variables to NumPy 2 arrays in a deprecated way.
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept:DeprecationWarning"
)

X = np.array([[-np.inf, -30, -2, -0.5, -0.0, 0, 0.5, 4, np.inf, np.nan]], np.float32)
CASES = [
    (LeakyReLU(), lambda x: np.where(x > 0, x, 0.1 * x)),
    (LeakyReLU(0.5), lambda x: np.where(x > 0, x, 0.5 * x)),
    (VeryLeakyReLU(), lambda x: np.where(x > 0, x, x / 3)),
    (VeryLeakyReLU(0.5), lambda x: np.where(x > 0, x, 0.5 * x)),
    (ShiftedReLU(), lambda x: np.maximum(x, -1)),
    (PReLU(), lambda x: np.where(x > 0, x, 0.25 * x)),
    (RReLU(), lambda x: np.where(x > 0, x, 11 / 48 * x)),
    (RReLU(0.1, 0.3), lambda x: np.where(x > 0, x, 0.2 * x)),
]


@pytest.mark.parametrize("layer, reference", CASES)
def test_values(layer, reference):
    y = layer(X)
    np.testing.assert_allclose(y, reference(X), rtol=1e-6)
    np.testing.assert_allclose(tf.function(layer)(X), y)
    assert layer.compute_output_shape(X.shape) == X.shape


@pytest.mark.parametrize("layer", [case[0] for case in CASES])
@pytest.mark.parametrize("dtype", ["float16", "mixed_bfloat16", "float64"])
def test_dtypes_and_config(layer, dtype):
    config = {**layer.get_config(), "dtype": dtype, "name": "act"}
    copy = type(layer).from_config(config)
    assert copy(X, training=True).dtype == copy.compute_dtype
    assert copy.get_config()["name"] == "act"
    arguments = {"alpha", "lower", "upper"} & set(config)
    assert {k: copy.get_config()[k] for k in arguments} == {
        k: config[k] for k in arguments
    }


@pytest.mark.parametrize("cls", [LeakyReLU, VeryLeakyReLU, ShiftedReLU, PReLU, RReLU])
def test_is_saved(cls, tmp_path):
    model = keras.Sequential([keras.Input([10]), cls()])
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert type(loaded.layers[0]) is cls
    np.testing.assert_array_equal(loaded(X), model(X))


@pytest.mark.parametrize("shape", [(2, 5), (2, 7, 5), (2, 3, 4, 5), (2, 2, 3, 4, 5)])
def test_prelu_has_one_slope_a_channel(shape):
    layer = PReLU()
    x = -np.ones(shape, np.float32)
    with tf.GradientTape() as tape:
        y = layer(x)
    assert [w.shape for w in layer.trainable_weights] == [(5,)]
    elements = np.prod(shape) / 5
    np.testing.assert_allclose(
        tape.gradient(y, layer.slope.value), np.full(5, -elements)
    )
    layer.slope.assign([1, 2, 3, 4, 5])
    np.testing.assert_array_equal(layer(x)[..., 2], x[..., 2] * 3)


def test_prelu_gradients_are_finite():
    layer = PReLU()
    x = tf.constant([[np.inf], [3.4e38], [0.0], [-2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x)
    of_x, of_slope = tape.gradient(y, [x, layer.slope.value])
    np.testing.assert_array_equal(of_x, [[1], [1], [0.25], [0.25]])
    np.testing.assert_array_equal(of_slope, [-2])


@pytest.mark.parametrize("shape", [(3,), (3, None)])
def test_prelu_refuses_shapes(shape):
    with pytest.raises(errors.UsageError, match="known number of channels"):
        PReLU().build(shape)


def test_rrelu_draws_a_slope_for_each_element():
    layer, x = RReLU(seed=3), -np.ones([100, 200], np.float32)
    first, second = (-np.asarray(layer(x, training=True)) for _ in range(2))
    assert len(np.unique(first)) > 15_000
    assert 1 / 8 <= first.min() < 0.126 and 0.332 < first.max() <= 1 / 3
    np.testing.assert_allclose(first.mean(), 11 / 48, atol=2e-3)
    assert not np.array_equal(first, second)
    again = -np.asarray(RReLU(seed=3)(x, training=True))
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(layer(-x, training=True), -x)
    np.testing.assert_array_equal(layer(x), layer(x))


def test_rrelu_gradient_is_the_slope():
    x = -tf.ones([10])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = RReLU(seed=0)(x, training=True)
    np.testing.assert_array_equal(tape.gradient(y, x), -y)


@pytest.mark.parametrize("key", ["lower", "upper"])
@pytest.mark.parametrize("value", [0, -0.1, np.nan, np.inf, True, "x"])
def test_rrelu_refuses_bounds(key, value):
    with pytest.raises(errors.UsageError, match=f"{key} must be a finite number > 0"):
        RReLU(**{key: value})


@pytest.mark.parametrize("bounds", [(0.3, 0.2), (0.2, 0.2)])
def test_rrelu_refuses_an_empty_range(bounds):
    with pytest.raises(errors.UsageError, match="lower < upper"):
        RReLU(*bounds)


@pytest.mark.parametrize("alpha", [0, -0.1, np.nan, np.inf, False, "x"])
def test_leaky_relu_refuses_alpha(alpha):
    for cls in (LeakyReLU, VeryLeakyReLU):
        with pytest.raises(errors.UsageError, match="alpha must be a finite number"):
            cls(alpha)
