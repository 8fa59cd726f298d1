"""SpatialPyramidPooling has Caffe's bins and the values of loops over cells."""

import functools
import math

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import SpatialPyramidPooling
from elu_zoo.layers.spatial_pyramid_pooling import bin_edges

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
    for shape in (maps.shape[1:], (None, None, 3)):
        shape = SpatialPyramidPooling(levels).compute_output_shape((None, *shape))
        assert shape == (None, expected.shape[1])


def test_outputs_are_sorted_by_level_row_column_and_channel():
    ramp = np.arange(16, dtype=np.float32).reshape(4, 4)
    maps = np.stack([ramp, -ramp], axis=-1)[None]
    bins = [5, 0, 7, -2, 13, -8, 15, -10]
    for levels, expected in [((1, 2), [15, 0, *bins]), ((2, 1), [*bins, 15, 0])]:
        assert np.asarray(SpatialPyramidPooling(levels)(maps)).tolist() == [expected]


def test_the_default_has_three_levels():
    layer = SpatialPyramidPooling()
    assert layer.levels == (1, 2, 4)
    assert layer(noise(2, 7, 7, 5)).shape == (2, 21 * 5)


@pytest.mark.parametrize("shape", [(7, 9), (5, 4)])
def test_the_gradient_reaches_the_maximum_of_each_bin(shape):
    layer, maps = SpatialPyramidPooling(), noise(2, *shape, 3)
    factors = np.random.default_rng(1).normal(size=(2, 63)).astype(np.float32)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(layer(x) * factors)
        return tape.gradient(total, x)

    expected = np.zeros(maps.shape)
    for image in range(2):
        for i, (bin_rows, bin_columns) in enumerate(windows(*shape, (1, 2, 4))):
            for channel in range(3):
                cells = [(r, c) for r in bin_rows for c in bin_columns]
                r, c = max(cells, key=lambda cell: maps[image, *cell, channel])
                expected[image, r, c, channel] += factors[image, 3 * i + channel]
    computed = gradient(tf.constant(maps))
    np.testing.assert_allclose(computed, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("levels", [(), (0,), (1, 2.0), (True,), "124", 3])
def test_invalid_levels_are_refused(levels):
    with pytest.raises(errors.UsageError) as caught:
        SpatialPyramidPooling(levels)
    message = f"integers >= 1, such as (1, 2, 4). Received: {levels!r}."
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("levels", "shape"),
    [
        ((1, 2, 4), (None, 3, 9, 2)),
        ((6, 1), (2, 9, 5, 2)),
        ((2,), (None, None, 1, 2)),
        ((1,), (None, 8, 8, None)),
        ((1,), (None, 8, 8)),
    ],
)
def test_maps_of_unsuitable_shapes_are_refused(levels, shape):
    layer, least = SpatialPyramidPooling(levels), max(levels)
    with pytest.raises(errors.UsageError) as caught:
        layer.compute_output_shape(shape)
    assert f"with levels {levels} needs a map (batch, height," in str(caught.value)
    assert f"at least {least} x {least} pixels. Received: {shape}. U" in str(caught.value)


def test_a_map_that_is_too_small_is_refused():
    with pytest.raises(errors.UsageError, match=r"Received: \(1, 3, 9, 2\)"):
        SpatialPyramidPooling()(noise(1, 3, 9, 2))
