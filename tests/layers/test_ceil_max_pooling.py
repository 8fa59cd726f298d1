"""CeilMaxPooling2D has Caffe's output sizes and the values of loops over cells."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from distinct_values import noise

from elu_zoo.layers import CeilMaxPooling2D

# (pool size, strides, size of the map, size of the pooled map)
SIZES = [
    (4, 2, 33, 16), (4, 2, 15, 7), (2, 2, 9, 5), (3, 2, 32, 16), (3, 2, 33, 16),
    (2, 2, 8, 4), (3, 2, 2, 1), (3, 3, 7, 3), (3, 3, 8, 3), (3, 3, 1, 1), (4, 1, 6, 3),
    (1, 1, 5, 5), (5, 3, 9, 3), (2, 1, 6, 5),
]  # fmt: skip


def caffe_size(n, pool, strides):
    return math.ceil((n - pool) / strides) + 1


def windows(n, pool, strides):
    starts = [i * strides for i in range(caffe_size(n, pool, strides))]
    return [range(start, min(start + pool, n)) for start in starts]


def reference(maps, pool, strides):
    rows, columns = (windows(n, pool, strides) for n in maps.shape[1:3])
    result = np.empty((len(maps), len(rows), len(columns), maps.shape[3]), maps.dtype)
    for image, i, j, channel in np.ndindex(result.shape):
        cells = [maps[image, r, c, channel] for r in rows[i] for c in columns[j]]
        result[image, i, j, channel] = max(cells)
    return result


@pytest.mark.parametrize("pool, strides, cells, pooled", SIZES)
def test_outputs_equal_the_reference(pool, strides, cells, pooled):
    layer = CeilMaxPooling2D(pool, strides)
    for width in (cells, cells + 1):
        maps = noise(2, cells, width, 2)
        expected = reference(maps, pool, strides)
        assert expected.shape[1] == pooled
        np.testing.assert_array_equal(layer(maps), expected)
        whole = np.int32(9 * maps)
        np.testing.assert_array_equal(layer(whole), reference(whole, pool, strides))
        assert layer.compute_output_shape(maps.shape) == expected.shape
        symbolic = layer(keras.Input(maps.shape[1:]))
        assert symbolic.shape == (None, *expected.shape[1:])
        unknown = layer(keras.Input((None, None, 2)))
        assert unknown.shape == (None, None, None, 2)
        graph = tf.function(layer, input_signature=[tf.TensorSpec(unknown.shape)])
        np.testing.assert_array_equal(graph(maps), expected)


@pytest.mark.parametrize("pool, cells", [(3, 16), (4, 17), (2, 5)])
def test_gradients_of_a_cell_are_added_row_by_row(pool, cells):
    """oneDNN's kernel adds gradients in another order, with other rounding errors."""
    values, layer = noise(8, cells, cells + 1, 5), CeilMaxPooling2D(pool, 2)
    y, expected = reference(values, pool, 2), np.zeros_like(values)
    weights = np.random.default_rng(1).normal(size=y.shape).astype(np.float32)
    for image, i, j, channel in np.ndindex(y.shape):
        is_maximum = values[image, :, :, channel] == y[image, i, j, channel]
        expected[image, is_maximum, channel] += weights[image, i, j, channel]

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(layer(x) * weights)
        return tape.gradient(total, x)

    np.testing.assert_array_equal(gradient(tf.constant(values)), expected)
