"""FractionalMaxPooling2D has Graham's regions and the maxima of loops over cells."""

import collections
from fractions import Fraction

import numpy as np
import pytest
import tensorflow as tf
from distinct_values import noise
from graham_regions import check_cover, graham

from elu_zoo.layers import FractionalMaxPooling2D, keyed

REGIONS = ["pseudorandom", "random"]


def reference(maps, rows, columns):
    """Returns the maxima of regions that start at these rows and columns."""
    result = np.empty((len(maps), len(rows), len(columns), maps.shape[3]), maps.dtype)
    for image, i, j, channel in np.ndindex(result.shape):
        r, c = rows[i], columns[j]
        result[image, i, j, channel] = maps[image, r : r + 2, c : c + 2, channel].max()
    return result


def coordinates(height, width, count=1):
    """Returns maps whose values are 100 times the row of a cell plus its column."""
    ramp = 100 * np.arange(height)[:, None] + np.arange(width)
    return np.tile(ramp[None, :, :, None], (count, 1, 1, 1)).astype(np.float32)


def starts(layer, height, width, **arguments):
    """Returns the starts of the regions, read from the pooled `coordinates`."""
    last_cells = np.asarray(layer(coordinates(height, width), **arguments))[0, :, :, 0]
    # The maximum of a region of 2 x 2 cells is the value of the last cell.
    rows, columns = last_cells[:, 0] // 100 - 1, last_cells[0] % 100 - 1
    np.testing.assert_array_equal(last_cells, 100 * (rows[:, None] + 1) + columns + 1)
    return rows.astype(int).tolist(), columns.astype(int).tolist()


def keyed_starts(layer, iteration, height=93, width=73):
    with keyed(iteration, [0]):
        return starts(layer, height, width, training=True)


@pytest.mark.parametrize("regions", REGIONS)
def test_inference_pools_the_regions_of_u_0_5(regions):
    layer, maps = FractionalMaxPooling2D((6, 4), regions), noise(3, 8, 6, 2)
    expected = reference(maps, graham(8, 6, 0.5), graham(6, 4, 0.5))
    np.testing.assert_array_equal(layer(maps), expected)
    assert layer.compute_output_shape(maps.shape) == expected.shape
    with keyed(3, range(3)):
        np.testing.assert_array_equal(layer(maps), expected)


@pytest.mark.parametrize("regions", REGIONS)
@pytest.mark.parametrize("is_keyed", [False, True])
def test_training_pools_drawn_regions(regions, is_keyed):
    layer = FractionalMaxPooling2D((6, 9), regions, seed=4)
    for iteration in range(5):
        maps = np.concatenate([noise(3, 8, 13, 1), coordinates(8, 13, 3)], axis=-1)
        if is_keyed:
            with keyed(iteration, range(3)):
                pooled = np.asarray(layer(maps, training=True))
        else:
            pooled = np.asarray(layer(maps, training=True))
        rows = (pooled[0, :, 0, 1] // 100 - 1).astype(int)
        columns = (pooled[0, 0, :, 1] % 100 - 1).astype(int)
        check_cover(rows, 8, 6)
        check_cover(columns, 13, 9)
        np.testing.assert_array_equal(pooled, reference(maps, rows, columns))


@pytest.mark.parametrize("regions", REGIONS)
@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_traced_outputs_equal_eager_outputs_and_gradients(regions, jit_compile):
    values = noise(2, 8, 13, 1)
    layer = FractionalMaxPooling2D((6, 9), regions, seed=4)
    weights = noise(2, 6, 9, 1)

    @tf.function(jit_compile=jit_compile)
    def gradient(x, iteration):
        with tf.GradientTape() as tape, keyed(iteration, tf.range(2)):
            tape.watch(x)
            y = layer(x, training=True)
            total = tf.reduce_sum(y * weights)
        return y, tape.gradient(total, x)

    for iteration in range(3):
        y, computed = gradient(tf.constant(values), tf.constant(iteration))
        with keyed(iteration, range(2)):
            np.testing.assert_array_equal(y, layer(values, training=True))
        expected = np.zeros_like(values)
        for index in np.ndindex(*y.shape):
            expected[values == y[index]] += weights[index]
        np.testing.assert_allclose(computed, expected, rtol=1e-6)
    assert gradient.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("regions", REGIONS)
def test_rows_and_columns_have_separate_draws(regions):
    layer = FractionalMaxPooling2D((74, 74), regions, seed=1)
    pairs = [keyed_starts(layer, i, 93, 93) for i in range(20)]
    assert sum(rows == columns for rows, columns in pairs) <= 2
    assert len({tuple(rows) for rows, _ in pairs}) >= 15


def test_starts_equal_stored_starts():
    """If the draws changed, finished runs could not be repeated."""
    for regions, expected in (
        ("pseudorandom", [[0, 1, 3, 4, 5, 6], [0, 1, 2, 4, 5, 6, 8, 9, 11]]),
        ("random", [[0, 2, 3, 4, 5, 6], [0, 2, 3, 4, 5, 7, 8, 10, 11]]),
    ):
        layer = FractionalMaxPooling2D((6, 9), regions, seed=20160222)
        assert list(keyed_starts(layer, 7, 8, 13)) == expected


@pytest.mark.slow
def test_the_draw_u_is_uniform():
    layer = FractionalMaxPooling2D((5, 5), seed=0)
    regions = [tuple(graham(8, 5, Fraction(k, 6))) for k in range(6)]
    probabilities = {key: n / 6 for key, n in collections.Counter(regions).items()}
    assert len(probabilities) > 1
    counts = collections.Counter()
    for iteration in range(100):
        counts.update(map(tuple, keyed_starts(layer, iteration, 8, 8)))
    assert counts.keys() == probabilities.keys()
    for key, p in probabilities.items():
        assert abs(counts[key] - 200 * p) < 4 * np.sqrt(200 * p * (1 - p))
