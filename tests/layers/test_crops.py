"""PadCropFlip and Cutout return what loops over images compute."""

import numpy as np
import pytest

from elu_zoo.layers import Cutout, PadCropFlip

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
def test_crops_equal_a_loop_over_images(shape, padding):
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


@pytest.mark.parametrize("size", [1, 2, 3, 40])
@pytest.mark.parametrize(
    ("shape", "value"), [((32, 32, 3), 0.0), ((5, 7, 2), 0.0), ((5, 7, 2), 9.5)]
)
def test_cutout_equals_a_loop_over_images(shape, value, size):
    height, width, _ = shape
    corners = [(r, c) for r in (0, height - 1) for c in (0, width - 1)]
    centres = np.array([*corners, *RNG.integers(0, shape[:2], (20, 2))], "int32")
    images = RNG.normal(size=(len(centres), *shape)).astype("float32")
    expected = images.copy()
    for image, centre in zip(expected, centres, strict=True):
        row, column = np.maximum(0, centre - size // 2)
        last_row, last_column = centre - size // 2 + size
        image[row:last_row, column:last_column] = value
    np.testing.assert_array_equal(Cutout(size, value)(images, centres), expected)
