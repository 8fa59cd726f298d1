"""Highway returns what the formula of highway networks gives in float64."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import Highway


def reference(transformed, gate, carried):
    opened = 1 / (1 + np.exp(-np.asarray(gate, np.float64)))
    return opened * transformed + (1 - opened) * carried


def noise(*shape):
    """Returns three arrays of random numbers: transformed, gate and carried."""
    return list(np.random.default_rng(0).normal(0, 3, (3, *shape)).astype(np.float32))


@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 4, 5), (1,)])
def test_outputs_equal_the_formula(shape):
    parts, layer = noise(*shape), Highway()
    for inputs in (parts, tuple(parts)):
        np.testing.assert_allclose(layer(inputs), reference(*parts), 1e-5, 1e-6)
    assert layer.compute_output_shape([shape] * 3) == shape
    assert layer([keras.Input(shape[1:])] * 3).shape == (None, *shape[1:])


def test_a_gate_opens_and_closes():
    transformed, _, carried = noise(6)
    gate = np.array([100, -100, 0, 1e30, -1e30, np.inf], np.float32)
    outputs = np.asarray(Highway()([transformed, gate, carried]))
    np.testing.assert_array_equal(outputs[[0, 3, 5]], transformed[[0, 3, 5]])
    np.testing.assert_allclose(outputs[[1, 4]], carried[[1, 4]], rtol=1e-6)
    np.testing.assert_allclose(outputs[2], (transformed[2] + carried[2]) / 2, rtol=1e-6)


def test_gradients_equal_the_formula():
    parts = noise(3, 4)
    xs = [tf.constant(x) for x in parts]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = Highway()(xs)
    transformed, gate, carried = parts
    opened = 1 / (1 + np.exp(-gate.astype(np.float64)))
    gate_gradient = opened * (1 - opened) * (transformed - carried)
    expected = opened, gate_gradient, 1 - opened
    for gradient, formula in zip(tape.gradient(y, xs), expected, strict=True):
        np.testing.assert_allclose(gradient, formula, rtol=1e-4, atol=1e-6)


def test_an_input_may_have_an_unknown_size():
    layer, parts = Highway(), noise(4, 5)
    signature = [tf.TensorSpec(shape) for shape in ([None, 5], [None, 5], [None, None])]
    traced = tf.function(lambda *parts: layer(parts), input_signature=signature)
    np.testing.assert_allclose(traced(*parts), reference(*parts), 1e-5, 1e-6)


@pytest.mark.parametrize(
    "shapes, received",
    [
        ([(4, 5)] * 2, "(4, 5), (4, 5)."),
        ([(4, 5), (4, 5), (4, 1)], "(4, 5), (4, 5), (4, 1)."),
        ([(5,), (4, 5), (4, 5)], "(5,), (4, 5), (4, 5)."),
    ],
)
def test_other_than_three_tensors_of_one_shape_are_refused(shapes, received):
    message = f"of one shape: transformed, gate and carried. Received: {received}"
    with pytest.raises(errors.UsageError) as caught:
        Highway()([np.zeros(shape, np.float32) for shape in shapes])
    assert message in str(caught.value)
    with pytest.raises(errors.UsageError) as caught:
        Highway().compute_output_shape(shapes)
    assert message in str(caught.value)


@pytest.mark.parametrize("shape", [(3, 5), (3, 3, 3)])
def test_a_single_tensor_is_refused(shape):
    for inputs in (np.zeros(shape, np.float32), keras.Input(batch_shape=shape)):
        with pytest.raises(errors.UsageError, match=r"Received: \(3, "):
            Highway()(inputs)
