"""Intervals from seeds and images together."""

import numpy as np
import pytest

from elu_zoo.compare.images import interval


def of(table):
    """Returns the interval of a table of differences, `(seeds, images)`."""
    return interval(dict(enumerate(np.asarray(table))), dict.fromkeys(range(len(table)), 0))


@pytest.mark.parametrize(
    ("table", "half"),
    [
        # Mean squares 6, 18 and 2 with 1, 2 and 2 degrees of freedom: the variance is
        # (6 + 18 - 2) / 6, with 22**2 / (36 / 1 + 324 / 2 + 4 / 2) = 2.42 degrees of freedom.
        ([[1, 3, 8], [3, 7, 8]], 3.66064 * (22 / 6) ** 0.5),
        # Mean squares 4, 1 and 4: the interval of the seeds, whose means are 1.5 and 3.5.
        ([[1, 2], [5, 2]], 12.7062 * 1.0),
    ],
)
def test_intervals_equal_those_by_hand(table, half):
    low, high = of(table)
    assert ((low + high) / 2, (high - low) / 2) == pytest.approx((np.mean(table), half), rel=1e-4)


@pytest.mark.parametrize(("seeds", "images", "both"), [(0.3, 0, 1), (0.1, 1, 1), (0.3, 2, 0.5)])
def test_95_percent_of_intervals_cover_the_mean_of_all_seeds_and_images(seeds, images, both):
    draw, count = np.random.default_rng(0), 0
    for _ in range(400):
        table = seeds * draw.normal(size=(6, 1)) + images * draw.normal(size=(1, 40))
        low, high = of(table + both * draw.normal(size=(6, 40)))
        count += low <= 0 <= high
    assert 0.92 <= count / 400 <= 0.98
