"""SpatialPyramidPooling has Caffe's bins and the values of loops over cells."""

import functools
import math

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.layers import SpatialPyramidPooling
from elu_zoo.layers.pooling import bin_edges

LEVELS = [(1, 2, 4), (1, 3, 6), (2, 1)]
SIZES = [
    (levels, height, 18 - height)
    for levels in LEVELS
    for height in range(4, 15)
    if min(height, 18 - height) >= max(levels)
]


def caffe_rows(size, bins):
    """Returns the rows of each window of Caffe, or None if Caffe refuses the size.

    Caffe's `SPPLayer::GetPoolingParam` computes the windows. Caffe's `PoolingLayer`
    clips windows to the map and requires that the padding is less than the window.
    """
    kernel = math.ceil(size / bins)
    remainder = kernel * bins - size
    pad = (remainder + 1) // 2
    if pad >= kernel:
        return None
    windows = [range(i * kernel - pad, (i + 1) * kernel - pad) for i in range(bins)]
    return [[row for row in window if 0 <= row < size] for window in windows]


def rows(size, bins):
    """Returns Caffe's rows of each bin.

    For sizes that Caffe refuses, returns the rows that overlap with each of `bins`
    equal intervals.
    """
    return caffe_rows(size, bins) or [
        [r for r in range(size) if r * bins < (i + 1) * size and (r + 1) * bins > i * size]
        for i in range(bins)
    ]


def windows(height, width, levels):
    """Yields the rows and the columns of each bin, in the order of the output."""
    for bins in levels:
        for bin_rows in rows(height, bins):
            for bin_columns in rows(width, bins):
                yield bin_rows, bin_columns


def reference(maps, levels):
    count, height, width, channels = maps.shape
    result = []
    for image in maps:
        for bin_rows, bin_columns in windows(height, width, levels):
            for channel in range(channels):
                result.append(max(image[r, c, channel] for r in bin_rows for c in bin_columns))
    return np.reshape(np.array(result, maps.dtype), (count, len(result) // count))


def noise(*shape, seed=0):
    """Returns negative values, so that a padding of zeros would be visible."""
    draws = np.random.default_rng(seed).normal(-20, 3, shape)
    return draws.astype(np.float32)


def test_bins_equal_caffe_or_equal_intervals():
    refused_by_caffe = []
    for bins in range(1, 9):
        for size in range(bins, 40):
            bin_rows = [list(range(*edge)) for edge in bin_edges(size, bins)]
            assert bin_rows == rows(size, bins), (size, bins)
            assert len(bin_rows) == bins and all(bin_rows)
            assert {row for rows_of_bin in bin_rows for row in rows_of_bin} == set(range(size))
            if caffe_rows(size, bins) is None:
                refused_by_caffe.append((size, bins))
            else:
                assert sum(map(len, bin_rows)) == size  # no overlap
    assert [(size, bins) for size, bins in refused_by_caffe if bins <= 4] == [(5, 4)]


@functools.cache
def of_unknown_size(levels):
    shape = tf.TensorSpec([None, None, None, 3])
    return tf.function(SpatialPyramidPooling(levels), input_signature=[shape])


@pytest.mark.parametrize(("levels", "height", "width"), SIZES)
def test_outputs_equal_the_reference(levels, height, width):
    maps = noise(2, height, width, 3)
    expected = reference(maps, levels)
    np.testing.assert_array_equal(SpatialPyramidPooling(levels)(maps), expected)
    np.testing.assert_array_equal(of_unknown_size(levels)(maps), expected)
    shape = SpatialPyramidPooling(levels).compute_output_shape((None, None, None, 3))
    assert shape == (None, expected.shape[1])


def test_the_default_has_three_levels():
    layer = SpatialPyramidPooling()
    assert layer.levels == (1, 2, 4)
    assert layer(noise(2, 7, 7, 5)).shape == (2, 21 * 5)
