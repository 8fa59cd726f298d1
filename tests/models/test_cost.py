"""Parameters and multiply-accumulates, against sums over the layers."""

import keras
import pytest

import elu_zoo
from elu_zoo.models import cost

MLP = 784 * 128 + 7 * 128 * 128 + 128 * 10


@pytest.mark.parametrize(
    ("arguments", "parameters", "macs"),
    [
        ({}, MLP + 8 * 128 + 10, MLP),
        ({"batch_norm": True}, MLP + 8 * 128 + 10 + 8 * 4 * 128, MLP),
        ({"activation": "prelu"}, MLP + 8 * 128 + 10 + 8 * 128, MLP),
        (
            {"width": 0.5, "num_classes": 3, "input_shape": (4, 5, 2)},
            (40 + 1) * 64 + 7 * (64 + 1) * 64 + (64 + 1) * 3,
            40 * 64 + 7 * 64 * 64 + 64 * 3,
        ),
    ],
)
def test_mlp(arguments, parameters, macs):
    model = elu_zoo.get_model("mnist_mlp_8x128", **arguments, preprocessing=False)
    assert cost.parameters(model) == parameters
    assert cost.multiply_accumulates(model) == macs


@pytest.mark.parametrize(
    ("arguments", "hidden"),
    [({"batch_norm": True}, 4 * 3500), ({"activation": "prelu"}, 3500)],
)
def test_autoencoder(arguments, hidden):
    units = [784, 1000, 500, 250, 30, 250, 500, 1000, 784]
    macs = sum(a * b for a, b in zip(units, units[1:], strict=False))
    model = elu_zoo.get_model("mnist_autoencoder", **arguments, preprocessing=False)
    assert cost.parameters(model) == macs + sum(units[1:]) + hidden
    assert cost.multiply_accumulates(model) == macs


def test_convolution():
    model = keras.Sequential(
        [
            keras.Input((9, 7, 3)),
            keras.layers.Conv2D(5, 3, strides=2),
            keras.layers.Conv2D(4, (1, 2), padding="same", use_bias=False),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
    )
    maps = 4 * 3  # (9 - 3) // 2 + 1 by (7 - 3) // 2 + 1
    dense = maps * 4 * 2
    assert cost.multiply_accumulates(model) == (
        maps * 3 * 3 * 3 * 5 + maps * 1 * 2 * 5 * 4 + dense
    )
    assert cost.parameters(model) == 3 * 3 * 3 * 5 + 5 + 1 * 2 * 5 * 4 + dense + 2
