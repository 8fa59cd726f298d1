"""Max pooling that rounds its size up, against Caffe's arithmetic and loops."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import CeilMaxPooling2D

# (pool size, strides, cells of a side, cells of the pooled side)
SIZES = [
    (4, 2, 33, 16), (4, 2, 15, 7), (2, 2, 9, 5), (3, 2, 32, 16), (3, 2, 16, 8),
    (3, 2, 33, 16), (3, 2, 8, 4), (2, 2, 8, 4), (3, 2, 2, 1), (3, 3, 7, 3),
    (3, 3, 8, 3), (3, 3, 1, 1), (4, 1, 6, 3), (1, 1, 5, 5), (5, 3, 9, 3), (2, 1, 6, 5),
]  # fmt: skip


def caffe_size(n, pool, strides):
    return math.ceil((n - pool) / strides) + 1


def windows(n, pool, strides):
    starts = [i * strides for i in range(caffe_size(n, pool, strides))]
    return [range(start, min(start + pool, n)) for start in starts]


def reference(maps, pool, strides):
    """Value by value."""
    rows, columns = (windows(n, pool, strides) for n in maps.shape[1:3])
    result = np.empty((len(maps), len(rows), len(columns), maps.shape[3]), maps.dtype)
    for image, i, j, channel in np.ndindex(result.shape):
        cells = [maps[image, r, c, channel] for r in rows[i] for c in columns[j]]
        result[image, i, j, channel] = max(cells)
    return result


def noise(*shape):
    """Below 0, so that a zero of any padding would be the maximum; all different."""
    order = np.random.default_rng(0).permutation(int(np.prod(shape)))
    return (-1 - order.reshape(shape) / 8).astype(np.float32)


@pytest.mark.parametrize("pool, strides, cells, pooled", SIZES)
def test_sizes(pool, strides, cells, pooled):
    assert caffe_size(cells, pool, strides) == pooled
    layer = CeilMaxPooling2D(pool, strides)
    for shape in ((None, cells, 20, 3), (2, 20, cells, None)):
        found = layer.compute_output_shape(shape)
        other = caffe_size(20, pool, strides)
        sizes = (pooled, other) if shape[1] == cells else (other, pooled)
        assert found == (shape[0], *sizes, shape[3])
    assert layer(keras.Input((cells, 20, 3))).shape[1] == pooled


@pytest.mark.parametrize("pool, strides, cells, pooled", SIZES)
def test_values(pool, strides, cells, pooled):
    for width in (cells, cells + 1):
        maps = noise(2, cells, width, 2)
        found = CeilMaxPooling2D(pool, strides)(maps)
        assert found.shape[1] == pooled
        np.testing.assert_array_equal(found, reference(maps, pool, strides))


def test_it_is_not_same_pooling():
    maps = np.arange(36, dtype=np.float32).reshape(1, 6, 6, 1)
    ours = np.asarray(CeilMaxPooling2D(4, 2)(maps))[0, :, :, 0]
    np.testing.assert_array_equal(ours, [[21, 23], [33, 35]])
    same = keras.ops.max_pool(maps, 4, 2, "same")
    assert same.shape == (1, 3, 3, 1)


@pytest.mark.parametrize("pool, strides, cells", [(4, 2, 9), (3, 2, 8), (2, 2, 5)])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_gradient(pool, strides, cells, jit_compile):
    values, layer = noise(2, cells, cells + 1, 2), CeilMaxPooling2D(pool, strides)
    expected, y = np.zeros_like(values), reference(values, pool, strides)
    weights = noise(*y.shape)
    for image, i, j, channel in np.ndindex(y.shape):
        places = np.argwhere(values[image, :, :, channel] == y[image, i, j, channel])
        (row, column), = places  # fmt: skip
        expected[image, row, column, channel] += weights[image, i, j, channel]

    @tf.function(jit_compile=jit_compile)
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(layer(x) * weights)
        return tape.gradient(total, x)

    np.testing.assert_allclose(gradient(tf.constant(values)), expected, rtol=1e-6)


@pytest.mark.parametrize("pool, cells", [(3, 16), (4, 17)])
def test_gradients_of_a_cell_are_added_in_one_order(pool, cells):
    """Row by row. oneDNN's kernel, which most programs would take, has another."""
    values, layer = noise(8, cells, cells, 5), CeilMaxPooling2D(pool, 2)
    y, expected = reference(values, pool, 2), np.zeros_like(values)
    weights = np.random.default_rng(1).normal(size=y.shape).astype(np.float32)
    for image, i, j, channel in np.ndindex(y.shape):
        place = values[image, :, :, channel] == y[image, i, j, channel]
        expected[image, place, channel] += weights[image, i, j, channel]

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(layer(x) * weights)
        return tape.gradient(total, x)

    np.testing.assert_array_equal(gradient(tf.constant(values)), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "mixed_bfloat16", "float64"])
@pytest.mark.parametrize("cells", [8, 9])
def test_types(dtype, cells):
    maps = -np.random.default_rng(0).integers(1, 200, (2, cells, cells, 3)) * 1.0
    found = CeilMaxPooling2D(4, 2, dtype=dtype)(maps)
    assert found.dtype == dtype.removeprefix("mixed_")
    np.testing.assert_array_equal(np.asarray(found, "float64"), reference(maps, 4, 2))


@pytest.mark.parametrize("cells", [8, 9])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_traced(cells, jit_compile):
    layer, maps = CeilMaxPooling2D(3, 2), noise(2, cells, 6, 3)
    program = tf.function(lambda x: layer(x), jit_compile=jit_compile)
    np.testing.assert_array_equal(program(maps), reference(maps, 3, 2))


def test_a_batch_of_unknown_size():
    layer, maps = CeilMaxPooling2D(4, 2), noise(4, 7, 6, 3)
    signature = [tf.TensorSpec([None, 7, 6, 3])]
    program = tf.function(lambda x: layer(x), input_signature=signature)
    for part in (maps, maps[:1]):
        np.testing.assert_array_equal(program(part), reference(part, 4, 2))


def test_config_and_file(tmp_path):
    layer = CeilMaxPooling2D(4, 3, name="pool")
    again = CeilMaxPooling2D.from_config(layer.get_config())
    model = keras.Sequential([keras.Input([6, 9, 2]), layer])
    assert not model.weights
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras").get_layer("pool")
    maps = noise(3, 6, 9, 2)
    for other in (again, loaded, keras.models.clone_model(model)):
        np.testing.assert_array_equal(other(maps), reference(maps, 4, 3))
    assert again.name == "pool"


@pytest.mark.parametrize(
    "pool, strides",
    [(2, 3), (0, 0), (3, 0), (3, -1), (-1, -1), (3.0, 2), (3, 2.0), (True, True),
     (None, 1), ((3, 3), 2), (3, "2"), (3, None)],
)  # fmt: skip
def test_refused_arguments(pool, strides):
    with pytest.raises(errors.UsageError) as caught:
        CeilMaxPooling2D(pool, strides)
    message = "integers 1 <= strides <= pool_size. Received: "
    assert f"{message}pool_size={pool!r}, strides={strides!r}." in str(caught.value)


@pytest.mark.parametrize(
    "pool, strides, shape",
    [
        (3, 2, (None, 1, 8, 2)),
        (3, 2, (None, 8, 1, 2)),
        (4, 1, (2, 3, 8, 2)),
        (3, 2, (None, None, 8, 2)),
        (3, 2, (None, 8, None, 2)),
        (3, 2, (None, 8, 8)),
        (3, 2, (None, 8, 8, 8, 2)),
        (1, 1, (2, 0, 8, 2)),
    ],
)
def test_refused_maps(pool, strides, shape):
    layer, least = CeilMaxPooling2D(pool, strides), pool - strides + 1
    with pytest.raises(errors.UsageError) as caught:
        layer.compute_output_shape(shape)
    assert f"Pooling of {pool} with strides {strides} takes a" in str(caught.value)
    assert f"at least {least} x {least}. Received: {shape}." in str(caught.value)
    with pytest.raises(errors.UsageError, match=f"Pooling of {pool} with strides"):
        layer(keras.Input(batch_shape=shape))


def test_refuses_a_map_that_is_too_small():
    with pytest.raises(errors.UsageError, match=r"Received: \(1, 1, 9, 2\)"):
        CeilMaxPooling2D(3, 2)(noise(1, 1, 9, 2))
