"""Splits in memory are cut into parts, joined and printed."""

import numpy as np
import pytest

from elu_zoo.data.dataset import Split

IMAGES = np.random.default_rng(0).integers(0, 256, (7, 3, 2, 1), "uint8")
SPLIT = Split(IMAGES, np.arange(7, dtype="int32"))


def check_equal(actual, expected):
    assert (actual.images.dtype, actual.labels.dtype) == (np.uint8, np.int32)
    np.testing.assert_array_equal(actual.images, expected.images)
    np.testing.assert_array_equal(actual.labels, expected.labels)


def test_the_repr_states_sizes_and_shapes(mnist_5k):
    assert repr(mnist_5k) == (
        "ImageData('mnist_5k', train=3500, validation=500, test=1000, "
        "image_shape=(28, 28, 1), num_classes=10)"
    )


def test_splits_are_cut_and_joined_in_order():
    last_four = Split(IMAGES[3:], SPLIT.labels[3:])
    check_equal(SPLIT.first(3).joined(last_four), SPLIT)
    assert last_four.joined(SPLIT.first(2)).labels.tolist() == [3, 4, 5, 6, 0, 1]
    assert len(SPLIT.first(8)) == len(SPLIT.first(7)) == 7


@pytest.mark.parametrize(("size", "sizes"), [(3, [3, 3, 1]), (7, [7]), (8, [7])])
def test_parts_make_up_the_split(size, sizes):
    parts = list(SPLIT.parts(size))
    assert [len(part) for part in parts] == sizes
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.joined(part)
    check_equal(joined, SPLIT)
    assert SPLIT.image_shape == (3, 2, 1)
