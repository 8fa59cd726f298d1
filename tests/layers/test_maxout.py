"""Maxout returns what a loop over units computes."""

import keras
import numpy as np
import pytest
from distinct_values import noise

from elu_zoo.layers import Maxout


def reference(x, pieces):
    units = x.shape[-1] // pieces
    result = np.empty((*x.shape[:-1], units), x.dtype)
    for index in np.ndindex(result.shape):
        *outer, unit = index
        result[index] = max(x[(*outer, unit * pieces + j)] for j in range(pieces))
    return result


@pytest.mark.parametrize("pieces", [1, 3, 12])
@pytest.mark.parametrize("shape", [(3, 12), (2, 3, 4, 12)])
def test_outputs_equal_the_reference(pieces, shape):
    x, layer = noise(*shape), Maxout(pieces)
    expected = reference(x, pieces)
    np.testing.assert_array_equal(layer(x), expected)
    assert layer.compute_output_shape(shape) == expected.shape
    assert layer(keras.Input(shape[1:])).shape == (None, *expected.shape[1:])


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("piece", [0, 1])
def test_a_piece_that_is_nan_or_infinite_is_the_output(value, piece):
    x = np.array([[-3, -2]], np.float32)
    x[0, piece] = value
    np.testing.assert_array_equal(Maxout(2)(x), [[value]])
