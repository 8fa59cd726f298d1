"""The CIFAR networks, held against the paper's lists and sums by hand."""

import math

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo.models import cost

# Layers x units x receptive field: kernels of every stack, the classifier apart.
KERNELS = {
    "elu_cifar_11": [
        [(5, 192)],
        [(1, 192), (3, 240)],
        [(1, 240), (2, 260)],
        [(1, 260), (2, 280)],
        [(1, 280), (2, 300)],
        [(1, 300)],
    ],
    "elu_cifar_18": [
        [(3, 384)],
        [(1, 384), (2, 384), (2, 640), (2, 640)],
        [(1, 640), (2, 768), (2, 768), (2, 768)],
        [(1, 768), (2, 896), (2, 896)],
        [(3, 896), (2, 1024), (2, 1024)],
        [(1, 1024), (2, 1152)],
        [(1, 1152)],
    ],
}
STACKS = {
    "elu_cifar_11": [14_592, 452_016, 307_700, 359_340, 414_980, 90_300, 30_100],
    "elu_cifar_18": [
        10_752, 3_360_768, 7_097_216, 6_556_160, 15_092_608, 5_769_344, 1_328_256,
        115_300,
    ],
}  # fmt: skip
# 10^9 multiply-accumulates of an image, as measured for the project's own notes.
COSTS = {
    ("elu_cifar_11", "same"): 0.158,
    ("elu_cifar_11", "caffe"): 0.173,
    ("elu_cifar_18", "same"): 1.497,
    ("elu_cifar_18", "caffe"): 3.277,
}
each_net = pytest.mark.parametrize("name", KERNELS)


@pytest.fixture(scope="module")
def models():
    return {name: elu_zoo.get_model(name, preprocessing=False) for name in KERNELS}


def convolutions(model):
    return [x for x in model.layers if isinstance(x, keras.layers.Conv2D)]


@each_net
def test_kernels(models, name):
    expected, channels = {}, 3
    stacks = [*KERNELS[name], [(1, 100)]]
    for i, stack in enumerate(stacks, 1):
        for j, (field, units) in enumerate(stack, 1):
            layer = f"stack{i}_conv{j}" if i < len(stacks) else "classifier"
            expected[layer] = (field, field, channels, units)
            channels = units
    found = {x.name: tuple(x.kernel.shape) for x in convolutions(models[name])}
    assert found == expected
    assert len(found) == {"elu_cifar_11": 11, "elu_cifar_18": 19}[name]
    assert all(x.use_bias and x.strides == (1, 1) for x in convolutions(models[name]))


@each_net
def test_parameters_of_each_stack(models, name):
    found = [0] * len(STACKS[name])
    for layer in convolutions(models[name]):
        stack = layer.name.removeprefix("stack").partition("_")[0]
        index = -1 if layer.name == "classifier" else int(stack) - 1
        found[index] += sum(math.prod(w.shape) for w in layer.weights)
    assert found == STACKS[name]
    assert cost.parameters(models[name]) == sum(STACKS[name])


@pytest.mark.parametrize(
    ("name", "classes", "parameters"),
    [
        ("elu_cifar_11", 100, 1_669_028),
        ("elu_cifar_11", 10, 1_641_938),
        ("elu_cifar_18", 100, 39_330_404),
        ("elu_cifar_18", 10, 39_226_634),
    ],
)
def test_parameters(name, classes, parameters):
    model = elu_zoo.get_model(name, num_classes=classes, preprocessing=False)
    assert cost.parameters(model) == parameters


@pytest.mark.parametrize(("name", "padding"), COSTS)
def test_multiply_accumulates(name, padding):
    found = elu_zoo.model_info(name, padding=padding).multiply_accumulates
    assert found == pytest.approx(COSTS[name, padding] * 1e9, abs=0.5e6)


@each_net
def test_weights_fit_any_size(models, name):
    larger = elu_zoo.get_model(name, input_shape=(48, 48, 3), preprocessing=False)
    for value, other in zip(larger.weights, models[name].weights, strict=True):
        assert value.path == other.path
        np.testing.assert_array_equal(np.asarray(value), np.asarray(other))


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("elu_cifar_11", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0]),
        ("elu_cifar_18", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0]),
    ],
)
def test_dropout(models, name, rates):
    """The paper's; its list for the larger network is one short."""
    layers = [x for x in models[name].layers if isinstance(x, elu_zoo.layers.Dropout)]
    assert [x.name for x in layers] == [
        f"stack{i}_drop" for i in range(1, len(rates) + 1)
    ]
    assert [x.rate for x in layers] == rates
    assert len({x.seed for x in layers}) == len(rates)


def start_loss(name, activation, count, **arguments):
    """The mean cross entropy at the start, on images of the whitened ones' scale."""
    draws = np.random.default_rng(0)
    images = draws.standard_normal((count, 32, 32, 3)).astype(np.float32)
    labels = draws.integers(0, 100, count)
    model = elu_zoo.get_model(
        name, activation=activation, **arguments, preprocessing=False
    )
    logits = np.asarray(model(images), np.float64)
    logits -= logits.max(1, keepdims=True)
    of_label = logits[np.arange(count), labels]
    return np.mean(np.log(np.exp(logits).sum(1)) - of_label)


@pytest.mark.parametrize("activation", ["elu", "relu", "leaky_relu", "shifted_relu"])
def test_loss_at_the_start(activation):
    """That of a uniform guess; He's initial weights, scale 2, start far above it."""
    assert start_loss("elu_cifar_11", activation, 32) == pytest.approx(
        math.log(100), abs=0.5
    )


def test_loss_at_the_start_of_the_larger_network():
    assert start_loss("elu_cifar_18", "elu", 4) == pytest.approx(math.log(100), abs=0.5)


def test_init_scale_of_he():
    assert start_loss("elu_cifar_11", "elu", 32, init_scale=2.0) > 10
