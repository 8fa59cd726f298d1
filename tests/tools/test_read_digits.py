"""Digits that the networks of MNIST read: drawn, photographed, moved."""

import numpy as np
import pytest
import read_digits

import elu_zoo
from elu_zoo.data.load import load


@pytest.fixture(scope="module")
def error_of():
    """A function of pictures, classes and a way; returns the share of errors."""
    model = elu_zoo.get_model("mnist_mlp_8x128", weights="mnist")

    def error(pictures, classes, way):
        outputs = model.predict(read_digits.read(pictures, way), verbose=0)
        return np.mean(outputs.argmax(1) != classes)

    return error


@pytest.mark.slow
def test_drawn_and_photographed_digits_are_read(error_of):
    pictures, classes = read_digits.drawn(variants=1)
    generator = np.random.default_rng(1)
    photographs = [read_digits.photograph(each, generator) for each in pictures]
    assert error_of(pictures, classes, "as it is") > 0.7
    assert error_of(pictures, classes, "--digit") < 0.12
    assert error_of(photographs, classes, "--digit") < 0.15


@pytest.mark.data("mnist")
@pytest.mark.slow
def test_moved_digits_of_mnist_are_read():
    images = load("mnist").test.images[:300]
    np.testing.assert_array_equal(read_digits.read(images, "--digit"), images)
    moved = read_digits.moved(images, np.random.default_rng(0))
    back = read_digits.read(moved, "--digit").astype(float)
    assert np.abs(moved - images.astype(float)).mean() > 30
    assert np.abs(back - images).mean() < 8
