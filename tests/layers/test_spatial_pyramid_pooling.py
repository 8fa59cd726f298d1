"""Maxima over the bins of a pyramid, against Caffe's arithmetic and loops."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import SpatialPyramidPooling
from elu_zoo.layers.spatial_pyramid_pooling import bin_edges, check_levels

LEVELS = [(1, 2, 4), (1,), (3,), (1, 3, 6), (2, 1), (4, 4)]
SIZES = [
    (levels, height, 18 - height)
    for levels in LEVELS
    for height in range(4, 15)
    if min(height, 18 - height) >= max(levels)
]


def caffe_rows(size, bins):
    """The rows of each of Caffe's windows, None where Caffe refuses the size.

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
    """Caffe's; else the rows that share a part with one of `bins` equal shares."""
    return caffe_rows(size, bins) or [
        [
            r
            for r in range(size)
            if r * bins < (i + 1) * size and (r + 1) * bins > i * size
        ]
        for i in range(bins)
    ]


def windows(height, width, levels):
    """Rows and columns of every bin, in the output's order."""
    for bins in levels:
        for rows_here in rows(height, bins):
            for columns_here in rows(width, bins):
                yield rows_here, columns_here


def reference(maps, levels):
    """Pixel by pixel."""
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
    """Below 0, so that a zero of any padding would be the maximum."""
    draws = np.random.default_rng(seed).normal(-20, 3, shape)
    return draws.astype(np.float32)


# Bins.


@pytest.mark.parametrize(
    ("size", "bins", "edges"),
    [
        (7, 1, [(0, 7)]),
        (7, 2, [(0, 3), (3, 7)]),
        (7, 3, [(0, 2), (2, 5), (5, 7)]),
        (7, 4, [(0, 1), (1, 3), (3, 5), (5, 7)]),
        (6, 4, [(0, 1), (1, 3), (3, 5), (5, 6)]),
        (4, 4, [(0, 1), (1, 2), (2, 3), (3, 4)]),
        (9, 4, [(0, 1), (1, 4), (4, 7), (7, 9)]),
        (10, 4, [(0, 2), (2, 5), (5, 8), (8, 10)]),
        (13, 3, [(0, 4), (4, 9), (9, 13)]),
        # Caffe refuses these.
        (5, 4, [(0, 2), (1, 3), (2, 4), (3, 5)]),
        (7, 6, [(0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7)]),
        (8, 6, [(0, 2), (1, 3), (2, 4), (4, 6), (5, 7), (6, 8)]),
    ],
)
def test_bins_by_hand(size, bins, edges):
    assert bin_edges(size, bins) == edges
    assert [list(range(*edge)) for edge in edges] == rows(size, bins)


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
    few = [(size, bins) for size, bins in refused if bins <= 4]
    assert few == [(5, 4)]
    assert {(7, 6), (8, 6), (13, 6)} <= set(refused)


# Maxima.


@pytest.mark.parametrize(("levels", "height", "width"), SIZES)
def test_it_is_what_a_loop_computes(levels, height, width):
    maps = noise(2, height, width, 3)
    found = SpatialPyramidPooling(levels)(maps)
    np.testing.assert_array_equal(found, reference(maps, levels))


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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "mixed_bfloat16", "float64"])
def test_types(dtype):
    found = SpatialPyramidPooling((1, 2), dtype=dtype)(noise(2, 5, 4, 3))
    assert found.dtype == dtype.removeprefix("mixed_")
    maps = tf.cast(noise(2, 5, 4, 3), found.dtype).numpy().astype(np.float64)
    expected = reference(maps, (1, 2))
    np.testing.assert_array_equal(np.asarray(found, np.float64), expected)


@pytest.mark.parametrize("jit_compile", [None, False, True])
@pytest.mark.parametrize("shape", [(7, 9), (5, 4)])
def test_each_maximum_gets_the_gradient(shape, jit_compile):
    layer, maps = SpatialPyramidPooling(), noise(2, *shape, 3)
    factors = np.random.default_rng(1).normal(size=(2, 63)).astype(np.float32)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(layer(x) * factors)
        return tape.gradient(total, x)

    if jit_compile is not None:
        gradient = tf.function(gradient, jit_compile=jit_compile)
    expected = np.zeros(maps.shape)
    for image in range(2):
        for i, (rows_here, columns_here) in enumerate(windows(*shape, (1, 2, 4))):
            for channel in range(3):
                cells = [(r, c) for r in rows_here for c in columns_here]
                r, c = max(cells, key=lambda cell: maps[image, *cell, channel])
                expected[image, r, c, channel] += factors[image, 3 * i + channel]
    found = gradient(tf.constant(maps))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_traced(jit_compile):
    layer = SpatialPyramidPooling((1, 3))
    program = tf.function(lambda x: layer(x), jit_compile=jit_compile)
    for shape in ((5, 7, 6, 2), (2, 3, 4, 2)):
        maps = noise(*shape)
        np.testing.assert_array_equal(program(maps), reference(maps, (1, 3)))


def test_a_batch_of_unknown_size():
    layer = SpatialPyramidPooling()
    signature = [tf.TensorSpec([None, 6, 5, 3])]
    program = tf.function(lambda x: layer(x), input_signature=signature)
    maps = noise(4, 6, 5, 3)
    for size in (4, 1):
        expected = reference(maps[:size], (1, 2, 4))
        np.testing.assert_array_equal(program(maps[:size]), expected)
    assert program(maps[:0]).shape == (0, 63)


@pytest.mark.parametrize("levels", LEVELS)
def test_output_shape(levels):
    layer, bins = SpatialPyramidPooling(levels), sum(n * n for n in levels)
    for batch in (None, 3):
        assert layer.compute_output_shape((batch, 9, 6, 5)) == (batch, bins * 5)
    assert layer(keras.Input((9, 6, 5))).shape == (None, bins * 5)
    assert layer(noise(3, 9, 6, 5)).shape == (3, bins * 5)


def test_config_and_file(tmp_path):
    layer = SpatialPyramidPooling([3, 1], name="pyramid")
    assert layer.get_config()["levels"] == [3, 1]
    again = SpatialPyramidPooling.from_config(layer.get_config())
    assert (again.name, again.levels) == ("pyramid", (3, 1))
    model = keras.Sequential([keras.Input([5, 7, 2]), layer])
    assert not model.weights
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert loaded.get_layer("pyramid").levels == (3, 1)
    maps = noise(3, 5, 7, 2)
    for other in (again, loaded, keras.models.clone_model(model)):
        np.testing.assert_array_equal(other(maps), reference(maps, (3, 1)))


# What it refuses.


@pytest.mark.parametrize(
    "levels",
    [(), [], (0,), (1, -2), (1, 2.0), (True,), (1, None), "124", "", None, 3, [[1]]],
    ids=repr,
)
def test_refused_levels(levels):
    with pytest.raises(errors.UsageError) as caught:
        SpatialPyramidPooling(levels)
    message = f"integers >= 1, such as (1, 2, 4). Received: {levels!r}."
    assert message in str(caught.value)
    with pytest.raises(errors.UsageError, match="The levels of a pyramid are"):
        check_levels(levels)


@pytest.mark.parametrize(
    ("levels", "shape"),
    [
        ((1, 2, 4), (None, 3, 9, 2)),
        ((1, 2, 4), (None, 9, 3, 2)),
        ((6, 1), (2, 5, 5, 2)),
        ((1,), (None, None, 8, 2)),
        ((1,), (None, 8, None, 2)),
        ((1,), (None, 8, 8, None)),
        ((1,), (None, 8, 8)),
        ((1,), (None, 8)),
        ((1,), (None, 8, 8, 8, 2)),
        ((1,), (2, 0, 8, 2)),
    ],
)
def test_refused_maps(levels, shape):
    layer, least = SpatialPyramidPooling(levels), max(levels)
    with pytest.raises(errors.UsageError) as caught:
        layer.compute_output_shape(shape)
    assert f"with levels {levels} takes a map (batch, height," in str(caught.value)
    assert f"at least {least} x {least}. Received: {shape}. T" in str(caught.value)
    with pytest.raises(errors.UsageError, match="Spatial pyramid pooling with levels"):
        layer(keras.Input(batch_shape=shape))


def test_refuses_a_map_that_is_too_small():
    with pytest.raises(errors.UsageError, match=r"Received: \(1, 3, 9, 2\)"):
        SpatialPyramidPooling()(noise(1, 3, 9, 2))
