"""`scaled_units` computes the number of units of a layer from a relative width."""

import pytest

from elu_zoo.models import blocks


@pytest.mark.parametrize(
    ("units", "width", "expected"),
    [(128, 1.0, 128), (128, 0.5, 64), (128, 2, 256), (3, 0.01, 1), (10, 0.26, 3)],
)
def test_scaled_units_are_rounded_and_at_least_1(units, width, expected):
    assert blocks.scaled_units(units, width) == expected
