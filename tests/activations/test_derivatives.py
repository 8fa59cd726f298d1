"""Every form of the ELU has accurate derivatives in every mode."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import elu, elu_xla
from elu_zoo.activations import ELU, form
from elu_zoo.activations.rectifiers import LeakyReLU, ShiftedReLU

X = np.array([-3, -1, -0.25, 0.5, 2])


def _polynomial(x, alpha):
    with form("polynomial"):
        return ELU(alpha, dtype=x.dtype.name)(x)


def _layer(x, alpha):
    return ELU(alpha, jit_compile=True, dtype=x.dtype.name)(x, training=True)


FUNCTIONS = {
    "elu": elu,
    "elu_xla": elu_xla,
    "polynomial": _polynomial,
    "layer": _layer,
}


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


# For each mode: a function that computes the derivative, and the derivative's order.
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


def _derivative(name, mode, alpha, dtype, graph):
    def function(x):
        return MODES[mode][0](lambda z: FUNCTIONS[name](z, alpha), x)

    if graph != "eager":
        function = tf.function(function, jit_compile=graph == "compiled", autograph=False)
    return function(tf.constant(X, dtype))


def _exact(alpha, order):
    curve = alpha * np.exp(X)
    return np.where(X > 0, 2 - order, curve)  # first derivative 1, second 0


def _is_supported(name, mode, graph):
    # TensorFlow's result is None for every tf.function within a graph.
    return graph == "eager" or name not in ("elu_xla", "layer") or mode != "reverse over forward"


def _cases():
    """Yields all cases, slow but for some of float32."""
    graphs = "eager", "traced", "compiled"
    cases = itertools.product(TOLERANCES, FUNCTIONS, MODES, [0.1, 1.0, 2.5], graphs)
    for case in cases:
        dtype, name, mode, alpha, graph = case
        # In a graph that is not compiled, the layer is `elu_xla`, and the others do not differ.
        quick = (dtype, alpha) == ("float32", 2.5)
        quick &= graph == ("traced" if name in ("elu_xla", "layer") else "eager")
        quick &= name != "elu_xla" or mode == "reverse"
        yield pytest.param(*case, marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize("dtype, name, mode, alpha, graph", list(_cases()))
def test_derivatives_are_accurate(dtype, name, mode, alpha, graph):
    derivative = _derivative(name, mode, alpha, dtype, graph)
    if not _is_supported(name, mode, graph):
        assert derivative is None
        return
    exact, tolerance = _exact(alpha, MODES[mode][1]), TOLERANCES[dtype]
    derivative = tf.cast(derivative, tf.float64)
    np.testing.assert_allclose(derivative, exact, tolerance, atol=alpha * tolerance)


@pytest.mark.parametrize("function", [elu, elu_xla, ELU()])
def test_complex_numbers_are_refused(function):
    with pytest.raises(ValueError, match="real numbers. Received: a tensor of complex"):
        function(tf.constant([1 + 1j], tf.complex64))


@pytest.mark.parametrize("layer", [ELU(), LeakyReLU(), ShiftedReLU()])
def test_inputs_may_have_an_unknown_rank(layer):
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def traced(x):
        return layer(x)

    assert traced(tf.ones([2, 3])).shape == (2, 3)
