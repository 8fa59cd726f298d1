"""The ELU networks for CIFAR have the paper's kernels, costs and dropout rates."""

import keras
import pytest

import elu_zoo

# network: for each stack except the classifier's, (kernel size, units) of its layers.
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
# (network, padding): multiply-accumulates per image, in units of 10^9.
COSTS = {
    ("elu_cifar_11", "same"): 0.158,
    ("elu_cifar_11", "caffe"): 0.173,
    ("elu_cifar_18", "same"): 1.497,
    ("elu_cifar_18", "caffe"): 3.277,
}
each_net = pytest.mark.parametrize("name", KERNELS)


@pytest.fixture(scope="module")
def models(zero_weights):
    return {name: elu_zoo.get_model(name, preprocessing=False) for name in KERNELS}


def convolutions(model):
    return [x for x in model.layers if isinstance(x, keras.layers.Conv2D)]


@each_net
def test_kernels_have_the_shapes_of_the_paper(models, name):
    expected, channels = {}, 3
    stacks = [*KERNELS[name], [(1, 100)]]
    for i, stack in enumerate(stacks, 1):
        for j, (size, units) in enumerate(stack, 1):
            layer = f"stack{i}_conv{j}" if i < len(stacks) else "classifier"
            expected[layer] = (size, size, channels, units)
            channels = units
    shapes = {x.name: tuple(x.kernel.shape) for x in convolutions(models[name])}
    assert shapes == expected
    assert len(shapes) == {"elu_cifar_11": 11, "elu_cifar_18": 19}[name]
    assert all(x.use_bias and x.strides == (1, 1) for x in convolutions(models[name]))


@pytest.mark.parametrize(("name", "padding"), COSTS)
def test_multiply_accumulates_per_image(zero_weights, name, padding):
    cost = elu_zoo.model_info(name, padding=padding).multiply_accumulates
    assert cost == pytest.approx(COSTS[name, padding] * 1e9, abs=0.5e6)


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("elu_cifar_11", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0]),
        ("elu_cifar_18", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0]),
    ],
)
def test_default_dropout_rates(models, name, rates):
    """The paper has seven rates for the eight stacks of elu_cifar_18; 0.5 repeats."""
    layers = [x for x in models[name].layers if isinstance(x, elu_zoo.layers.Dropout)]
    assert [x.name for x in layers] == [f"stack{i}_drop" for i in range(1, len(rates) + 1)]
    assert [x.rate for x in layers] == rates
    assert len({x.seed for x in layers}) == len(rates)
