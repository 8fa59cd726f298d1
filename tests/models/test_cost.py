"""The cost of a model is compared with products that were written down by hand."""

import keras
import pytest

import elu_zoo
from elu_zoo import errors
from elu_zoo.models import cost


def test_parameters_and_multiply_accumulates_of_convolutions_and_a_dense_layer():
    model = keras.Sequential(
        [
            keras.Input((9, 7, 3)),
            keras.layers.Conv2D(5, 3, strides=2),
            keras.layers.Conv2D(4, (1, 2), padding="same", use_bias=False),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
    )
    positions = 4 * 3  # (9 - 3) // 2 + 1 rows and (7 - 3) // 2 + 1 columns
    dense = positions * 4 * 2
    assert cost.multiply_accumulates(model) == (
        positions * 3 * 3 * 3 * 5 + positions * 1 * 2 * 5 * 4 + dense
    )
    assert cost.parameters(model) == 3 * 3 * 3 * 5 + 5 + 1 * 2 * 5 * 4 + dense + 2


def test_separable_depthwise_and_nested_convolutions_are_counted():
    depthwise = keras.layers.DepthwiseConv2D(3, depth_multiplier=2)
    separable = keras.layers.SeparableConv2D(7, 2)
    nested = keras.Sequential([keras.Input((6, 6, 5)), depthwise, separable])
    model = keras.Sequential([keras.Input((6, 6, 5)), nested])
    # Maps of 4 x 4 and 3 x 3 positions.
    expected = 16 * 3 * 3 * 5 * 2 + 9 * (2 * 2 * 10 + 10 * 7)
    assert cost.multiply_accumulates(model) == expected


def test_model_info_needs_the_size_of_the_images():
    with pytest.raises(errors.UsageError, match="input_shape without None"):
        elu_zoo.model_info("nin", width=0.1, input_shape=(None, None, 3))
