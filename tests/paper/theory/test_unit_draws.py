"""Activations and deltas are compared with backpropagation in NumPy."""

import numpy as np
import pytest
from small_nets import dense, examples

from elu_zoo.paper.theory import unit_draws


def collected(model, name, images, labels):
    """Returns the incoming activations and the deltas of a layer."""
    layer, one_hot = model.get_layer(name), np.eye(4)[labels]
    inputs, squares, losses = unit_draws.collect(model, layer, images, one_hot, labels)
    np.testing.assert_allclose(squares, losses**2)
    return inputs, -losses


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("activation", ["elu", "relu"])
def test_deltas_of_dense_layers_equal_backpropagation(activation, inner):
    model = dense(activation, inner)
    images, labels = examples(model)
    w1, b1, w2, b2 = (np.float64(w) for w in model.get_weights())
    x = np.float64(images.reshape(len(images), -1))
    net_input = x @ w1 + b1
    is_elu = activation == "elu"
    negative, slope = is_elu * np.expm1(net_input), is_elu * np.exp(net_input)
    hidden = np.where(net_input > 0, net_input, negative)
    odds = np.exp(hidden @ w2 + b2)
    deltas = np.eye(4)[labels] - odds / odds.sum(axis=1, keepdims=True)
    inputs, drawn = collected(model, "classifier", images, labels)
    np.testing.assert_allclose(inputs, hidden, atol=1e-6)
    np.testing.assert_allclose(drawn, deltas, atol=1e-6)
    inputs, drawn = collected(model, "hidden", images, labels)
    np.testing.assert_allclose(inputs, x, atol=1e-7)
    before = (deltas @ w2.T) * np.where(net_input > 0, 1, slope)
    np.testing.assert_allclose(drawn, before, atol=1e-6)
