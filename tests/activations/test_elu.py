"""The ELU is accurate in every form and has stock operations in saved models."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from exact_elu import exact, gradients

from elu_zoo import errors
from elu_zoo.activations import ELU, elu, elu_xla, form


@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_eager_and_traced_values_are_equal_and_accurate(alpha, dtype):
    bits = np.arange(0, 2**32, 4093, dtype=np.uint32)
    x = tf.cast(bits.view(np.float32)[np.isfinite(bits.view(np.float32))], dtype)
    y = elu(x, alpha)
    traced = tf.function(elu)(x, alpha)
    assert y.dtype == dtype and y.numpy().tobytes() == traced.numpy().tobytes()
    wide = tf.cast(x, tf.float64).numpy()
    rounding = {"bfloat16": 2**-8, "float16": 2**-11, "float64": 1e-14}.get(dtype, 1e-6)
    computed = tf.cast(y, tf.float64)
    np.testing.assert_allclose(computed, exact(wide, alpha), rounding, atol=min(rounding, 1.2e-7))


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_derivatives_in_a_graph_are_accurate(alpha):
    x = np.array([np.inf, -np.inf, 0, -1, 2, -1e30, 3.4e38], np.float32)
    first, second = gradients(tf.function(lambda x: elu(x, alpha)), x)
    slope = alpha * np.exp(-1)
    np.testing.assert_allclose(first, [1, 0, alpha, slope, 1, 0, 1], rtol=1e-6)
    np.testing.assert_allclose(second[3:5], [slope, 0], rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_a_traced_layer_has_stock_operations(alpha):
    layer = ELU(alpha)
    graph = tf.function(layer).get_concrete_function(tf.TensorSpec([None, 4])).graph
    types = {operation.type for operation in graph.get_operations()}
    stock = {"Placeholder", "Elu", "Identity", "Const", "Greater", "Mul", "SelectV2"}
    assert types <= stock
    text = str(graph.as_graph_def())
    assert "_XlaMustCompile" not in text and "_gradient_op_type" not in text


@pytest.mark.parametrize("function", [elu, elu_xla])
def test_lists_and_integers_are_converted(function):
    np.testing.assert_allclose(function([-1, 0, 2]), exact([-1, 0, 2]), rtol=1e-6)


def test_elu_of_a_symbolic_tensor_adds_a_layer():
    x = keras.Input([2])
    model = keras.Model(x, elu(x, 0.5))
    np.testing.assert_allclose(model(np.array([[-1.0, 2]])), exact([[-1, 2]], 0.5))
    for function, dtype in itertools.product((elu, elu_xla), ("float64", "bfloat16", "int32")):
        kept = "float32" if dtype == "int32" else dtype
        assert function(keras.Input([2], dtype=dtype)).dtype == kept
    for compiled in (False, True):
        assert ELU(jit_compile=compiled, dtype="float16")(np.array([1, 2])).dtype == "float16"


def test_a_dense_layer_with_elu_can_be_saved(tmp_path):
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(2, activation=elu)])
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert loaded.layers[-1].activation is elu


def _graph(layer, dtype="float32", **options):
    function = tf.function(lambda x: layer(x, **options))
    return str(function.get_concrete_function(tf.zeros(3, dtype)).graph.as_graph_def())


def test_the_innermost_form_is_used():
    layer = ELU(0.5)
    assert "Elu" in _graph(layer)
    with form("polynomial"):
        x = np.array([-2, 0, 3], np.float32)
        np.testing.assert_allclose(layer(x), exact(x, 0.5), rtol=3e-7)
        assert "Bitcast" in _graph(layer)
        assert "_XlaMustCompile" not in _graph(layer)
        with form("plain"):
            assert "Elu" in _graph(layer)
        assert "Bitcast" in _graph(layer)
    assert "Bitcast" not in _graph(layer)


def test_a_compiled_layer_has_stock_operations_in_graphs_without_training():
    layer = ELU(0.5, jit_compile=True)
    assert "_XlaMustCompile" in _graph(layer, training=True)
    for options in ({}, {"training": False}):
        graph = _graph(layer, **options)
        assert "Elu" in graph and "_XlaMustCompile" not in graph
    with form("polynomial"):
        assert "_XlaMustCompile" not in _graph(layer, training=True)
    assert layer(tf.constant([-1e-8])) < 0  # eagerly; the stock operation returns 0


def test_a_subclass_with_its_own_call_is_not_compiled():
    halved = type("Halved", (ELU,), {"call": lambda self, x: x / 2})
    assert halved(jit_compile=True)(tf.constant(-4.0)) == -2


def test_an_unknown_form_suggests_the_nearest():
    with pytest.raises(errors.UsageError, match="Did you mean 'plain'"), form("plan"):
        pass


@pytest.mark.parametrize("function", [elu, elu_xla, lambda _, a: ELU(a)])
def test_alpha_must_be_finite_and_positive(function):
    with pytest.raises(errors.UsageError, match="alpha must be a finite number > 0"):
        function(1.0, np.nan)
