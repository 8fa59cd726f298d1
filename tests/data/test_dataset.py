"""Splits: parts of them, joined ones, and how they are printed."""

import hashlib

import numpy as np
import pytest

from elu_zoo.data import dataset, load


def digest(split):
    return hashlib.md5(split.images.tobytes() + split.labels.tobytes()).hexdigest()


def test_what_is_printed():
    data = load.load("mnist_5k")
    assert repr(data) == (
        "ImageData('mnist_5k', train=3500, validation=500, test=1000, "
        "image_shape=(28, 28, 1), num_classes=10)"
    )
    assert repr(data.test) == "Split(1000 examples, image_shape=(28, 28, 1))"


def test_joined():
    images = np.random.default_rng(0).integers(0, 256, (5, 3, 2, 1), "uint8")
    whole = dataset.Split(images, np.arange(5, dtype="int32"))
    rest = dataset.Split(images[3:], whole.labels[3:])
    again = whole.first(3).joined(rest)
    assert (len(again), len(rest.joined(whole))) == (5, 7)
    assert (again.images.dtype, again.labels.dtype) == (np.uint8, np.int32)
    assert digest(again) == digest(whole)
    assert rest.joined(whole).labels.tolist() == [3, 4, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("size", [1, 3, 7, 8])
def test_parts_of_a_split(size):
    images = np.random.default_rng(0).integers(0, 256, (7, 3, 2, 1), "uint8")
    split = dataset.Split(images, np.arange(7, dtype="int32"))
    assert split.image_shape == (3, 2, 1)
    found = list(split.parts(size))
    assert [len(part) for part in found] == [
        min(size, 7 - start) for start in range(0, 7, size)
    ]
    joined = found[0]
    for part in found[1:]:
        joined = joined.joined(part)
    assert digest(joined) == digest(split)
