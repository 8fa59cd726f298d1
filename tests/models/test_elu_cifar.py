"""The CIFAR networks: kernels, costs and dropout rates of the paper."""

import math

import keras
import numpy as np
import pytest

import elu_zoo

# Receptive field and units of every convolution of a stack, without the classifier.
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
# 10^9 multiply-accumulates of an image.
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


@pytest.mark.parametrize(("name", "padding"), COSTS)
def test_multiply_accumulates(name, padding):
    found = elu_zoo.model_info(name, padding=padding).multiply_accumulates
    assert found == pytest.approx(COSTS[name, padding] * 1e9, abs=0.5e6)


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("elu_cifar_11", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0]),
        ("elu_cifar_18", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0]),
    ],
)
def test_dropout(models, name, rates):
    """The paper's list of rates for the larger network is one short."""
    layers = [x for x in models[name].layers if isinstance(x, elu_zoo.layers.Dropout)]
    assert [x.name for x in layers] == [
        f"stack{i}_drop" for i in range(1, len(rates) + 1)
    ]
    assert [x.rate for x in layers] == rates
    assert len({x.seed for x in layers}) == len(rates)


def start_loss(name, activation, count, **arguments):
    """Returns the initial cross entropy on noise of the scale of whitened images."""
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


@pytest.mark.parametrize("activation", ["elu", "relu"])
def test_loss_at_the_start(activation):
    """The loss is that of a uniform guess; with He's scale 2 it is far above."""
    assert start_loss("elu_cifar_11", activation, 8) == pytest.approx(
        math.log(100), abs=0.5
    )


def test_init_scale_of_he():
    assert start_loss("elu_cifar_11", "elu", 8, init_scale=2.0) > 10
