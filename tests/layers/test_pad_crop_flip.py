import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import PadCropFlip

RNG = np.random.default_rng(0)


def reference(images, draws, padding, size=None):
    """Image by image."""
    height, width = size or images.shape[1:3]
    result = []
    for image, (row, column, flip) in zip(images, draws, strict=True):
        padded = np.pad(image, ((padding, padding), (padding, padding), (0, 0)))
        crop = padded[row : row + height, column : column + width]
        result.append(crop[:, ::-1] if flip else crop)
    return np.stack(result)


def drawn(count, padding):
    corners = RNG.integers(0, 2 * padding + 1, (count, 2))
    return np.column_stack([corners, RNG.integers(0, 2, count)]).astype("int32")


def corners(padding):
    """Each extreme, each flip."""
    ends = 0, padding, 2 * padding
    return np.array([(r, c, f) for r in ends for c in ends for f in (0, 1)], "int32")


def drawn_of(shape, padding, size, count=30):
    """Corners of crops of this size, the extreme ones first."""
    last = [n + 2 * padding - m for n, m in zip(shape, size, strict=False)]
    ends = [(r, c) for r in (0, last[0]) for c in (0, last[1])] * 2
    others = RNG.integers(0, [n + 1 for n in last], (count, 2))
    return np.column_stack([[*ends, *others], np.arange(len(ends) + count) // 4 % 2])


@pytest.mark.parametrize("padding", [0, 1, 4, 9])
@pytest.mark.parametrize("shape", [(32, 32, 3), (5, 7, 2), (8, 3, 1), (1, 1, 4)])
def test_it_is_what_a_loop_computes(shape, padding):
    draws = np.concatenate([corners(padding), drawn(20, padding)])
    images = RNG.normal(size=(len(draws), *shape)).astype("float32")
    found = PadCropFlip(padding)(images, draws)
    np.testing.assert_array_equal(found, reference(images, draws, padding))


def test_another_value_around():
    images = np.ones((1, 2, 2, 1), "float32")
    found = PadCropFlip(1, value=128)(images, np.array([[0, 1, 0]]))
    np.testing.assert_array_equal(np.asarray(found)[0, :, :, 0], [[128, 128], [1, 1]])


# (images, padding, crops)
SMALLER = [
    ((9, 7, 2), 0, (5, 4)),
    ((9, 7, 2), 0, (9, 4)),
    ((9, 7, 2), 0, (9, 7)),
    ((9, 7, 2), 2, (5, 6)),
    ((6, 5, 3), 1, (1, 1)),
    ((6, 5, 3), 1, (8, 7)),
    ((256, 256, 3), 0, (224, 224)),
]


@pytest.mark.parametrize(("shape", "padding", "size"), SMALLER)
def test_crops_of_another_size(shape, padding, size):
    draws = drawn_of(shape, padding, size, count=2 if shape[0] > 100 else 30)
    images = RNG.normal(size=(len(draws), *shape)).astype("float32")
    layer = PadCropFlip(padding, size)
    found = layer(images, draws)
    expected = reference(images, draws, padding, size)
    assert found.shape == expected.shape == (len(draws), *size, shape[-1])
    np.testing.assert_array_equal(found, expected)
    assert layer.compute_output_shape((None, *shape), (None, 3)) == (
        None,
        *size,
        shape[-1],
    )


def test_a_crop_within_the_image_is_what_its_corner_says():
    image = np.arange(12, dtype="float32").reshape(1, 3, 4, 1)
    expected = {
        (0, 0, 0): [[0, 1], [4, 5]],
        (1, 2, 0): [[6, 7], [10, 11]],
        (1, 2, 1): [[7, 6], [11, 10]],
        (0, 1, 1): [[2, 1], [6, 5]],
    }
    for draws, pixels in expected.items():
        found = np.asarray(PadCropFlip(0, (2, 2))(image, np.array([draws])))
        assert found[0, :, :, 0].tolist() == pixels, draws


@pytest.mark.parametrize(
    ("padding", "size"), [(0, (10, 7)), (0, (9, 8)), (2, (14, 4)), (2, (5, 12))]
)
def test_refuses_crops_larger_than_the_padded_images(padding, size):
    layer, draws = PadCropFlip(padding, size), np.zeros((1, 3), "int32")
    message = rf"Crops of \({size[0]}, {size[1]}\) do not fit into images of \(9, 7\) "
    message += f"with {padding} pixels around"
    with pytest.raises(errors.UsageError, match=message):
        layer(np.zeros((1, 9, 7, 2), "float32"), draws)
    with pytest.raises(errors.UsageError, match=message):
        layer(keras.Input((9, 7, 2)), keras.Input([3], dtype="int32"))
    with pytest.raises(errors.UsageError, match=message):
        layer.compute_output_shape((None, 9, 7, 2), (None, 3))


def test_the_middle_changes_nothing():
    images = RNG.normal(size=(3, 6, 5, 2)).astype("float32")
    found = PadCropFlip()(images, np.tile([4, 4, 0], (3, 1)))
    np.testing.assert_array_equal(found, images)
    mirrored = PadCropFlip()(images, np.tile([4, 4, 1], (3, 1)))
    np.testing.assert_array_equal(mirrored, images[:, :, ::-1])


def test_the_corner_is_that_of_the_padded_image():
    image = np.arange(1, 5, dtype="float32").reshape(1, 2, 2, 1)
    expected = {
        (0, 0, 0): [[0, 0], [0, 1]],
        (2, 1, 0): [[3, 4], [0, 0]],
        (1, 2, 0): [[2, 0], [4, 0]],
        (1, 2, 1): [[0, 2], [0, 4]],
        (2, 2, 1): [[0, 4], [0, 0]],
    }
    for draws, pixels in expected.items():
        found = np.asarray(PadCropFlip(1)(image, np.array([draws])))
        assert found[0, :, :, 0].tolist() == pixels, draws


def test_each_image_depends_on_its_own_draws():
    draws = drawn(12, 3)
    images = RNG.normal(size=(12, 9, 7, 3)).astype("float32")
    whole = np.asarray(PadCropFlip(3)(images, draws))
    order = RNG.permutation(12)
    np.testing.assert_array_equal(
        PadCropFlip(3)(images[order], draws[order]), whole[order]
    )
    for i in range(12):
        alone = PadCropFlip(3)(images[i : i + 1], draws[i : i + 1])
        np.testing.assert_array_equal(alone[0], whole[i])


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32"])
def test_draws_of_any_type(dtype):
    draws, images = corners(2), RNG.normal(size=(18, 6, 6, 1)).astype("float32")
    found = PadCropFlip(2)(images, draws.astype(dtype))
    np.testing.assert_array_equal(found, reference(images, draws, 2))


each_size = pytest.mark.parametrize("size", [None, (4, 3)])


@each_size
@pytest.mark.parametrize("jit_compile", [False, True])
def test_traced(jit_compile, size):
    layer = PadCropFlip(2, size)
    program = tf.function(lambda x, draws: layer(x, draws), jit_compile=jit_compile)
    draws = corners(2)
    images = RNG.normal(size=(18, 6, 5, 3)).astype("float32")
    found = program(images, draws)
    np.testing.assert_array_equal(found, reference(images, draws, 2, size))


@each_size
def test_a_batch_of_unknown_size(size):
    signature = tf.TensorSpec([None, 6, 5, 3]), tf.TensorSpec([None, 3], tf.int32)
    layer = PadCropFlip(2, size)
    program = tf.function(lambda x, d: layer(x, d), input_signature=signature)
    images, draws = RNG.normal(size=(18, 6, 5, 3)).astype("float32"), corners(2)
    for count in (18, 1):
        found = program(images[:count], draws[:count])
        expected = reference(images[:count], draws[:count], 2, size)
        np.testing.assert_array_equal(found, expected)
    assert program(images[:0], draws[:0]).shape == (0, *(size or (6, 5)), 3)


@pytest.mark.parametrize("size", [None, (4, 3), [4, 3]])
def test_config_and_file(tmp_path, size):
    layer, sizes = PadCropFlip(3, size, name="crop"), size and tuple(size)
    again = PadCropFlip.from_config(layer.get_config())
    assert (again.name, again.padding, again.size) == ("crop", 3, sizes)
    assert (PadCropFlip().padding, PadCropFlip().size) == (4, None)
    inputs = keras.Input([6, 5, 3]), keras.Input([3], dtype="int32")
    outputs = layer(*inputs)
    assert outputs.shape == (None, *(sizes or (6, 5)), 3)
    keras.Model(inputs, outputs).save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert not loaded.weights
    crop = loaded.get_layer("crop")
    assert (crop.padding, crop.size) == (3, sizes)
    images, draws = RNG.normal(size=(18, 6, 5, 3)).astype("float32"), corners(3)
    expected = reference(images, draws, 3, sizes)
    np.testing.assert_array_equal(loaded([images, draws]), expected)
