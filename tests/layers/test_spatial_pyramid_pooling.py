"""Spatial pyramid pooling, against Caffe's arithmetic and loops."""

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
    """Returns the rows of Caffe's windows, None if Caffe refuses the size.

    `SPPLayer::GetPoolingParam`, and `PoolingLayer`, which clips windows to the map
    and checks that the padding is less than the window.
    """
    kernel = math.ceil(size / bins)
    remainder = kernel * bins - size
    pad = (remainder + 1) // 2
    if pad >= kernel:
        return None
    windows = [range(i * kernel - pad, (i + 1) * kernel - pad) for i in range(bins)]
    return [[row for row in window if 0 <= row < size] for window in windows]


def rows(size, bins):
    """Returns Caffe's rows; for other sizes the rows that overlap an equal share."""
    return caffe_rows(size, bins) or [
        [
            r
            for r in range(size)
            if r * bins < (i + 1) * size and (r + 1) * bins > i * size
        ]
        for i in range(bins)
    ]


def windows(height, width, levels):
    """Yields rows and columns of every bin, in the order of the output."""
    for bins in levels:
        for rows_here in rows(height, bins):
            for columns_here in rows(width, bins):
                yield rows_here, columns_here


def reference(maps, levels):
    count, height, width, channels = maps.shape
    result = []
    for one in maps:
        for rows_here, columns_here in windows(height, width, levels):
            for channel in range(channels):
                result.append(
                    max(one[r, c, channel] for r in rows_here for c in columns_here)
                )
    return np.reshape(np.array(result, maps.dtype), (count, len(result) // count))


def noise(*shape, seed=0):
    """Returns negative values: a zero of a padding would be the maximum."""
    draws = np.random.default_rng(seed).normal(-20, 3, shape)
    return draws.astype(np.float32)


def test_bins_of_every_size():
    refused = []
    for bins in range(1, 9):
        for size in range(bins, 40):
            found = [list(range(*edge)) for edge in bin_edges(size, bins)]
            assert found == rows(size, bins), (size, bins)
            assert len(found) == bins and all(found)
            assert {row for each in found for row in each} == set(range(size))
            of_caffe = caffe_rows(size, bins)
            if of_caffe is None:
                refused.append((size, bins))
            else:
                assert found == of_caffe
                assert sum(map(len, found)) == size  # side by side
    assert [(size, bins) for size, bins in refused if bins <= 4] == [(5, 4)]


@pytest.mark.parametrize(("levels", "height", "width"), SIZES)
def test_values(levels, height, width):
    maps = noise(2, height, width, 3)
    found = SpatialPyramidPooling(levels)(maps)
    expected = reference(maps, levels)
    np.testing.assert_array_equal(found, expected)
    shape = SpatialPyramidPooling(levels).compute_output_shape((None, *maps.shape[1:]))
    assert shape == (None, expected.shape[1])


def test_order():
    """Level by level, row by row, bin by bin, channel by channel."""
    ramp = np.arange(16, dtype=np.float32).reshape(4, 4)
    maps = np.stack([ramp, -ramp], axis=-1)[None]
    bins = [5, 0, 7, -2, 13, -8, 15, -10]
    for levels, expected in [((1, 2), [15, 0, *bins]), ((2, 1), [*bins, 15, 0])]:
        assert np.asarray(SpatialPyramidPooling(levels)(maps)).tolist() == [expected]


def test_the_default_is_the_papers_three_levels():
    layer = SpatialPyramidPooling()
    assert layer.levels == (1, 2, 4)
    assert layer(noise(2, 7, 7, 5)).shape == (2, 21 * 5)


@pytest.mark.parametrize("shape", [(7, 9), (5, 4)])
def test_gradient(shape):
    layer, maps = SpatialPyramidPooling(), noise(2, *shape, 3)
    factors = np.random.default_rng(1).normal(size=(2, 63)).astype(np.float32)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(layer(x) * factors)
        return tape.gradient(total, x)

    expected = np.zeros(maps.shape)
    for image in range(2):
        for i, (rows_here, columns_here) in enumerate(windows(*shape, (1, 2, 4))):
            for channel in range(3):
                cells = [(r, c) for r in rows_here for c in columns_here]
                r, c = max(cells, key=lambda cell: maps[image, *cell, channel])
                expected[image, r, c, channel] += factors[image, 3 * i + channel]
    found = gradient(tf.constant(maps))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_config():
    layer = SpatialPyramidPooling([3, 1], name="pyramid")
    assert layer.get_config()["levels"] == [3, 1]
    again = SpatialPyramidPooling.from_config(layer.get_config())
    assert (again.name, again.levels) == ("pyramid", (3, 1))


@pytest.mark.parametrize("levels", [(), (0,), (1, 2.0), (True,), "124", 3])
def test_refused_levels(levels):
    with pytest.raises(errors.UsageError) as caught:
        SpatialPyramidPooling(levels)
    message = f"integers >= 1, such as (1, 2, 4). Received: {levels!r}."
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("levels", "shape"),
    [
        ((1, 2, 4), (None, 3, 9, 2)),
        ((6, 1), (2, 9, 5, 2)),
        ((1,), (None, None, 8, 2)),
        ((1,), (None, 8, 8, None)),
        ((1,), (None, 8, 8)),
    ],
)
def test_refused_maps(levels, shape):
    layer, least = SpatialPyramidPooling(levels), max(levels)
    with pytest.raises(errors.UsageError) as caught:
        layer.compute_output_shape(shape)
    assert f"with levels {levels} takes a map (batch, height," in str(caught.value)
    assert f"at least {least} x {least}. Received: {shape}. T" in str(caught.value)


def test_refuses_a_map_that_is_too_small():
    with pytest.raises(errors.UsageError, match=r"Received: \(1, 3, 9, 2\)"):
        SpatialPyramidPooling()(noise(1, 3, 9, 2))
