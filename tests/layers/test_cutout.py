"""Cutout returns what a loop over images computes."""

import numpy as np
import pytest

from elu_zoo.layers import Cutout

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("size", [1, 2, 3, 40])
@pytest.mark.parametrize(
    ("shape", "value"), [((32, 32, 3), 0.0), ((5, 7, 2), 0.0), ((5, 7, 2), 9.5)]
)
def test_outputs_equal_a_loop(shape, value, size):
    height, width, _ = shape
    corners = [(r, c) for r in (0, height - 1) for c in (0, width - 1)]
    centres = np.array([*corners, *RNG.integers(0, shape[:2], (20, 2))], "int32")
    images = RNG.normal(size=(len(centres), *shape)).astype("float32")
    expected = images.copy()
    for image, centre in zip(expected, centres, strict=True):
        row, column = np.maximum(0, centre - size // 2)
        last_row, last_column = centre - size // 2 + size
        image[row:last_row, column:last_column] = value
    layer = Cutout.from_config(Cutout(size, value).get_config())
    np.testing.assert_array_equal(layer(images, centres), expected)
