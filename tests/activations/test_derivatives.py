"""Derivatives of every form of the ELU in every mode, against NumPy's."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src import testing

from elu_zoo import elu, elu_xla
from elu_zoo.activations import ELU, form
from elu_zoo.activations.elu import FORMS
from elu_zoo.activations.rectifiers import LeakyReLU, ShiftedReLU

X = np.array([-3, -1, -0.25, 0.5, 2])


def _layer(name):
    def call(x, alpha):
        with form(name):
            return ELU(alpha, dtype=x.dtype.name)(x)

    return call


UNITS = {"elu": elu, "elu_xla": elu_xla} | {name: _layer(name) for name in FORMS}


def forward(function, x):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = function(x)
    return accumulator.jvp(y)


def reverse(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def batch_jacobian(function, x):
    column = x[:, None]
    with tf.GradientTape() as tape:
        tape.watch(column)
        y = function(column)
    return tape.batch_jacobian(y, column)[:, 0, 0]


def hessian(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        first = reverse(function, x)
    return tf.linalg.diag_part(tape.jacobian(first, x))


# The function of a derivative, and its order.
MODES = {
    "forward": (forward, 1),
    "reverse": (reverse, 1),
    "forward over reverse": (lambda f, x: forward(lambda z: reverse(f, z), x), 2),
    "reverse over forward": (lambda f, x: reverse(lambda z: forward(f, z), x), 2),
    "reverse over reverse": (lambda f, x: reverse(lambda z: reverse(f, z), x), 2),
    "batch_jacobian": (batch_jacobian, 1),
    "hessian": (hessian, 2),
}
TOLERANCES = {"float32": 1e-6, "float64": 1e-14, "bfloat16": 8e-3, "float16": 1e-3}


def _derivative(unit, mode, alpha, dtype, graph):
    def function(x):
        return MODES[mode][0](lambda z: UNITS[unit](z, alpha), x)

    if graph != "eager":
        function = tf.function(
            function, jit_compile=graph == "compiled", autograph=False
        )
    return function(tf.constant(X, dtype))


def _exact(alpha, order):
    curve = alpha * np.exp(X)
    return np.where(X > 0, 2 - order, curve)


def _undefined(unit, mode, dtype, graph):
    """Returns what TensorFlow does where a graph has no derivative."""
    if graph == "eager" or unit not in ("elu_xla", "nested"):
        return None
    if mode == "reverse over forward":
        return "None"  # of every tf.function within a graph
    return "error" if dtype == "bfloat16" and mode.startswith("forward") else None


@pytest.mark.parametrize("graph", ["eager", "traced", "compiled"])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        *(pytest.param(d, marks=pytest.mark.slow) for d in list(TOLERANCES)[1:]),
    ],
)
def test_every_derivative(dtype, unit, mode, alpha, graph):
    undefined = _undefined(unit, mode, dtype, graph)
    with contextlib.ExitStack() as stack:
        if undefined == "error" or (undefined and dtype == "bfloat16"):
            stack.enter_context(pytest.raises(LookupError, match="no forward mode"))
        found = _derivative(unit, mode, alpha, dtype, graph)
        if undefined:
            assert found is None
            return
        exact = _exact(alpha, MODES[mode][1])
        found = tf.cast(found, tf.float64)
        tolerance = TOLERANCES[dtype]
        np.testing.assert_allclose(found, exact, tolerance, atol=alpha * tolerance)


class TestKeras(testing.TestCase):
    """Keras' own test of its ELU, on ours."""

    @pytest.mark.filterwarnings("default::UserWarning")  # of its training check
    def test_correctness(self):
        self.run_layer_test(
            ELU,
            init_kwargs={},
            input_shape=(2, 3, 4),
            expected_output_shape=(2, 3, 4),
            expected_num_trainable_weights=0,
            expected_num_non_trainable_weights=0,
            supports_masking=True,
            assert_built_after_instantiation=True,
        )
        x = np.random.default_rng(0).random((2, 2, 5))
        for alpha in (1.0, 2.0):
            theirs = keras.layers.ELU(alpha)(x)
            self.assertAllClose(ELU(alpha)(x), theirs)


@pytest.mark.parametrize("function", [elu, elu_xla, ELU()])
def test_complex_numbers_are_refused(function):
    with pytest.raises(ValueError, match="real numbers. Received: a tensor of complex"):
        function(tf.constant([1 + 1j], tf.complex64))


@pytest.mark.parametrize("layer", [ELU(), LeakyReLU(), ShiftedReLU()])
def test_unknown_rank(layer):
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def of_any_rank(x):
        return layer(x)

    assert of_any_rank(tf.ones([2, 3])).shape == (2, 3)
