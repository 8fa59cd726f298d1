"""WithinChannelNormalization returns what loops over pixels compute in float64."""

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.layers import WithinChannelNormalization


def reference(maps):
    maps = np.asarray(maps, np.float64)
    result = np.empty_like(maps)
    for index in np.ndindex(maps.shape):
        image, row, column, channel = index
        total = 0.0
        for r in range(row - 1, row + 2):
            for c in range(column - 1, column + 2):
                if 0 <= r < maps.shape[1] and 0 <= c < maps.shape[2]:
                    total += maps[image, r, c, channel] ** 2
        result[index] = maps[index] * (1 + 5e-5 * total / 9) ** -0.75
    return result


def noise(*shape, scale=2):
    draws = np.random.default_rng(0).normal(0, scale, shape)
    return draws.astype(np.float32)


# The constants are the values of cuda-convnet.
@pytest.mark.parametrize("shape", [(2, 6, 4, 3), (1, 1, 1, 2)])
def test_outputs_equal_the_reference(shape):
    maps = noise(*shape, scale=500)  # the effect of a border is visible
    for inputs in maps, np.abs(maps).astype(np.uint8):
        outputs = WithinChannelNormalization()(inputs)
        np.testing.assert_allclose(outputs, reference(inputs), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_float32(dtype):
    maps = np.round(noise(2, 5, 4, 3, scale=2) * 32) * 8
    maps[0, 0, 0] = 1000  # float16 cannot represent the square
    layer = WithinChannelNormalization(dtype=dtype)
    outputs = layer(maps)
    assert outputs.dtype == dtype
    rounded = np.asarray(tf.cast(maps, outputs.dtype), np.float64)
    limit = {"float16": 1e-3, "bfloat16": 4e-3}[dtype]
    expected = reference(rounded)
    np.testing.assert_allclose(np.asarray(outputs, np.float64), expected, rtol=limit)
