"""Highway returns what the formula of highway networks gives in float64."""

import keras
import numpy as np
import pytest

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
