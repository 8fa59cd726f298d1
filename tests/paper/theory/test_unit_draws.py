"""Drawn activations and deltas are compared with backpropagation in NumPy."""

import numpy as np
import pytest
from small_nets import convolution, dense, examples

from elu_zoo.paper.theory import unit_draws
from elu_zoo.paper.theory.bias_shift import bias_shift


def collected(model, name, images, labels, draws=10**9):
    """Returns the incoming activations and the deltas of a layer."""
    layer, one_hot = model.get_layer(name), np.eye(4)[labels]
    chosen = unit_draws.positions(layer, len(images), draws, seed=0)
    found = unit_draws.collect(model, layer, images, one_hot, labels, chosen)
    inputs, squares, losses = found
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


@pytest.mark.parametrize(
    "arguments",
    [
        {"kernel_size": 3},
        {"kernel_size": 3, "padding": "same"},
        {"kernel_size": (2, 3), "padding": "same", "strides": (2, 1)},
        {"kernel_size": 3, "padding": "same", "strides": 2, "activation": "elu"},
        {"kernel_size": 2, "padding": "same", "dilation_rate": 2},
        {"kernel_size": (1, 2), "dilation_rate": (1, 3)},
        {"kernel_size": 1, "strides": 3},
        {},  # a dense layer on maps
    ],
    ids=str,
)
def test_products_of_patches_and_deltas_are_tensorflows_gradient(arguments):
    import tensorflow as tf

    model = convolution(**arguments)
    layer, (images, labels) = model.get_layer("conv"), examples(model)
    with tf.GradientTape() as tape:
        logits = model(images)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    kernel, bias = tape.gradient(losses, [layer.kernel.value, layer.bias.value])
    patches, deltas = collected(model, "conv", images, labels.astype("int32"))
    assert len(patches) == len(images) * np.prod(layer.output.shape[1:3])
    np.testing.assert_allclose(-deltas.sum(axis=0), bias, rtol=1e-4, atol=1e-4)
    product = (patches.T @ -deltas).reshape(kernel.shape)
    np.testing.assert_allclose(product, kernel, rtol=1e-4, atol=1e-3)


def test_positions_are_drawn_from_all_images():
    model = convolution(kernel_size=3)
    images, labels = examples(model)
    layer = model.get_layer("conv")
    few, same, other = (unit_draws.positions(layer, 230, 99, s) for s in (0, 0, 1))
    assert len(np.unique(few)) == 99 and few[0] < 1000 and few[-1] > 230 * 20 - 1000
    assert (few == same).all() and (few != other).any()
    every = collected(model, "conv", images, labels.astype("int32"))
    some = collected(model, "conv", images, labels.astype("int32"), draws=99)
    for part, array in zip(some, every, strict=True):
        np.testing.assert_array_equal(part, array[few])
    shifts = bias_shift(model, images, layers=["conv"], draws=99)["conv"]
    assert (shifts.effective_draws <= 99).all() and shifts.shift is None
