"""PadCropFlip returns what a loop over images computes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.layers import PadCropFlip

RNG = np.random.default_rng(0)


def reference(images, draws, padding, size=None):
    height, width = size or images.shape[1:3]
    result = []
    for image, (row, column, flip) in zip(images, draws, strict=True):
        padded = np.pad(image, ((padding, padding), (padding, padding), (0, 0)))
        crop = padded[row : row + height, column : column + width]
        result.append(crop[:, ::-1] if flip else crop)
    return np.stack(result)


def random_draws(count, padding):
    corners = RNG.integers(0, 2 * padding + 1, (count, 2))
    return np.column_stack([corners, RNG.integers(0, 2, count)]).astype("int32")


def corner_draws(padding):
    """Returns draws of the first, middle and last corners, with and without a flip."""
    ends = 0, padding, 2 * padding
    return np.array([(r, c, f) for r in ends for c in ends for f in (0, 1)], "int32")


def draws_of_size(shape, padding, size, count=30):
    """Returns draws for crops of `size`. The first eight crops are at the corners."""
    last = [n + 2 * padding - m for n, m in zip(shape, size, strict=False)]
    corners = [(r, c) for r in (0, last[0]) for c in (0, last[1])] * 2
    inside = RNG.integers(0, [n + 1 for n in last], (count, 2))
    return np.column_stack([[*corners, *inside], np.arange(8 + count) // 4 % 2])


@pytest.mark.parametrize("padding", [0, 1, 9])
@pytest.mark.parametrize("shape", [(5, 7, 2), (1, 1, 4)])
def test_outputs_equal_the_reference(shape, padding):
    draws = np.concatenate([corner_draws(padding), random_draws(20, padding)])
    images = RNG.normal(size=(len(draws), *shape)).astype("float32")
    crops = PadCropFlip(padding)(images, draws)
    np.testing.assert_array_equal(crops, reference(images, draws, padding))


def test_the_argument_value_is_the_value_of_the_padding():
    images = np.ones((1, 2, 2, 1), "float32")
    crops = PadCropFlip(1, value=128)(images, np.array([[0, 1, 0]]))
    np.testing.assert_array_equal(np.asarray(crops)[0, :, :, 0], [[128, 128], [1, 1]])


# (shape of an image, padding, size of a crop)
CROPS = [
    ((9, 7, 2), 0, (5, 4)),
    ((9, 7, 2), 2, (5, 6)),
    ((6, 5, 3), 1, (1, 1)),
    ((6, 5, 3), 1, (8, 7)),
]


@pytest.mark.parametrize(("shape", "padding", "size"), CROPS)
def test_crops_of_another_size_equal_the_reference(shape, padding, size):
    draws = draws_of_size(shape, padding, size)
    images = RNG.normal(size=(len(draws), *shape)).astype("float32")
    layer = PadCropFlip(padding, size)
    crops = layer(images, draws)
    expected = reference(images, draws, padding, size)
    assert crops.shape == expected.shape == (len(draws), *size, shape[-1])
    np.testing.assert_array_equal(crops, expected)
    assert layer.compute_output_shape((None, *shape), (None, 3)) == (
        None,
        *size,
        shape[-1],
    )


@pytest.mark.parametrize(("padding", "size"), [(0, (10, 7)), (2, (5, 12))])
def test_crops_larger_than_the_padded_images_are_refused(padding, size):
    layer, draws = PadCropFlip(padding, size), np.zeros((1, 3), "int32")
    message = rf"Crops of \({size[0]}, {size[1]}\) do not fit into images of \(9, 7\) "
    message += f"with {padding} pixels of padding"
    with pytest.raises(errors.UsageError, match=message):
        layer(np.zeros((1, 9, 7, 2), "float32"), draws)
    with pytest.raises(errors.UsageError, match=message):
        layer.compute_output_shape((None, 9, 7, 2), (None, 3))


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_draws_may_have_any_integer_dtype(dtype):
    draws, images = corner_draws(2), RNG.normal(size=(18, 6, 6, 1)).astype("float32")
    crops = PadCropFlip(2)(images, draws.astype(dtype))
    np.testing.assert_array_equal(crops, reference(images, draws, 2))


@pytest.mark.parametrize("size", [None, (4, 3)])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_traced_outputs_equal_the_reference(jit_compile, size):
    layer, draws = PadCropFlip(2, size), corner_draws(2)
    signature = tf.TensorSpec([None, 6, 5, 3]), tf.TensorSpec([None, 3], tf.int32)
    traced = tf.function(
        lambda x, d: layer(x, d), input_signature=signature, jit_compile=jit_compile
    )
    images = RNG.normal(size=(18, 6, 5, 3)).astype("float32")
    crops = traced(images, draws)
    np.testing.assert_array_equal(crops, reference(images, draws, 2, size))


@pytest.mark.parametrize("size", [None, (4, 3)])
def test_config_and_saved_model_keep_the_arguments(tmp_path, size):
    layer = PadCropFlip(3, size, value=2.0, name="crop")
    assert (PadCropFlip().padding, PadCropFlip().size) == (4, None)
    inputs = keras.Input([6, 5, 3]), keras.Input([3], dtype="int32")
    outputs = layer(*inputs)
    assert outputs.shape == (None, *(size or (6, 5)), 3)
    keras.Model(inputs, outputs).save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    crop = loaded.get_layer("crop")
    assert (crop.padding, crop.size, crop.value) == (3, size, 2.0)
    images, draws = RNG.normal(size=(18, 6, 5, 3)).astype("float32"), corner_draws(3)
    np.testing.assert_array_equal(loaded([images, draws]), layer(images, draws))
