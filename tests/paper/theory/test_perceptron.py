"""Networks in NumPy are compared with finite differences and with Keras layers."""

import numpy as np
import pytest

from elu_zoo import activations, errors
from elu_zoo.paper.theory.perceptron import UNITS, Perceptron

N, SIZES = 40, (6, 5, 4, 3)


def network(activation, seed=0):
    generator = np.random.default_rng(seed)
    pairs = zip(SIZES, SIZES[1:], strict=False)
    return Perceptron(activation, [generator.normal(size=(a + 1, b)) for a, b in pairs])


def data(seed=1):
    generator = np.random.default_rng(seed)
    return generator.normal(size=(N, SIZES[0])), generator.integers(0, SIZES[-1], N)


def generator(seed=2):
    return np.random.Generator(np.random.Philox(seed))


def reference(net, images):
    """Returns the probabilities, computed layer by layer."""
    activation = next(f for f, _ in UNITS.values() if f is net._unit)
    x = images
    for i, weights in enumerate(net.weights):
        x = (activation(x) if i else x) @ weights[:-1] + weights[-1]
    x = np.exp(x - x.max(axis=1, keepdims=True))
    return x / x.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("activation", UNITS)
def test_activations_equal_the_zoos_layers(activation):
    x = np.linspace(-4, 4, 161) + 0.01  # avoids the kinks
    layer = activations.make(activation, "unit")
    value, derivative = UNITS[activation]
    np.testing.assert_allclose(value(x), np.asarray(layer(x)), rtol=1e-5, atol=1e-6)
    steps = (value(x + 1e-6) - value(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(derivative(x), steps, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("activation", UNITS)
def test_gradients_equal_finite_differences(activation):
    net, (images, labels) = network(activation), data()
    passes = net.passes(images, labels, generator())
    expected = -np.log(reference(net, images)[np.arange(N), labels]).mean()
    assert passes.loss == pytest.approx(expected, rel=1e-12)
    assert net.loss(images, labels) == passes.loss
    for weights, gradient in zip(net.weights, passes.gradients, strict=True):
        for index in ((0, 0), (2, 1), (-1, 2)):
            weight, ends = weights[index], []
            for step in (1e-6, -1e-6):
                weights[index] = weight + step
                ends.append(net.loss(images, labels))
            weights[index] = weight
            slope = (ends[0] - ends[1]) / 2e-6
            assert gradient[index] == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("activation", UNITS)
def test_deltas_belong_to_labels_drawn_from_the_network(activation):
    net, (images, labels) = network(activation), data()
    p = reference(net, images)
    deltas = net.passes(images, labels, generator()).deltas
    drawn = (deltas[-1] > 0).argmax(axis=1)  # 1 - p of the label, -p of the others
    np.testing.assert_allclose(deltas[-1], np.eye(SIZES[-1])[drawn] - p, atol=1e-12)
    # For these labels the derivative of the loss by the net inputs is -delta / N.
    passes = net.passes(images, drawn, generator())
    inputs = [np.append(a, np.ones((N, 1)), axis=1) for a in passes.inputs]
    for a, delta, gradient in zip(inputs, deltas, passes.gradients, strict=True):
        np.testing.assert_allclose(-a.T @ delta / N, gradient, atol=1e-12)
    other = net.passes(images, labels, generator(seed=3)).deltas
    assert (other[-1] != deltas[-1]).any()


def test_labels_follow_the_softmax():
    net = network("elu")
    images = np.repeat(data()[0][:1], 20_000, axis=0)
    p = reference(net, images[:1])[0]
    deltas = net.passes(images, np.zeros(len(images), int), generator()).deltas[-1]
    shares = (deltas > 0).mean(axis=0)
    np.testing.assert_allclose(shares, p, atol=4 * np.sqrt(0.25 / len(images)))


def test_an_unknown_activation_raises_an_error():
    with pytest.raises(errors.UsageError, match="'elus'. Did you mean 'elu'"):
        Perceptron("elus", [])
