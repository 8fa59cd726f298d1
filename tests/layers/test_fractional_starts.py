"""Where the regions of fractional max pooling start, against Graham's formula."""

import numpy as np
import pytest
from graham_regions import check_cover, graham

from elu_zoo.layers.fractional_max_pooling import (
    even_starts,
    phased_starts,
    shuffled_starts,
)

# (cells, regions) of Graham's network, and limits.
SIZES = [
    (93, 74), (73, 58), (57, 45), (44, 35), (34, 27), (26, 21), (20, 16), (15, 12),
    (11, 9), (8, 6), (5, 4), (3, 2), (2, 1), (4, 2), (8, 7), (14, 7), (13, 7), (5, 3),
]  # fmt: skip


@pytest.mark.parametrize("cells, regions", SIZES)
def test_pseudorandom_starts(cells, regions):
    seen = set()
    for u in [*np.random.default_rng(0).random(20, np.float32), 0, 1 - 2**-24]:
        found = np.asarray(phased_starts(cells, regions, np.array([u], np.float32)))
        check_cover(found, cells, regions)
        # float32 may round the phase of a u so close to 1.
        if u < 1 - 2**-20:
            assert found.tolist() == graham(cells, regions, float(u))
        seen.add(tuple(found))
    free = regions - 1 < cells - 2 < 2 * (regions - 1)
    assert len(seen) > 1 if free else len(seen) == 1


@pytest.mark.parametrize("cells, regions", SIZES)
def test_random_starts(cells, regions):
    draws = np.random.default_rng(0)
    for _ in range(3):
        u = draws.random(regions - 1, np.float32)
        found = np.asarray(shuffled_starts(cells, regions, u))
        check_cover(found, cells, regions)
        order = np.argsort(u, kind="stable")
        steps = np.diff(graham(cells, regions, 0.5))[order]
        assert found.tolist() == [0, *np.cumsum(steps)]


def test_orders_of_the_steps_are_equally_likely():
    draws, counts = np.random.default_rng(0).random((600, 4), np.float32), {}
    for u in draws:
        found = tuple(np.asarray(shuffled_starts(2 + 6, 1 + 4, u)))
        counts[found] = counts.get(found, 0) + 1
    assert len(counts) == 6  # two steps of 1 among four
    expected = 600 / 6
    assert max(abs(n - expected) for n in counts.values()) < 5 * np.sqrt(expected)


@pytest.mark.parametrize("cells, regions", SIZES)
def test_even_starts(cells, regions):
    found = even_starts(cells, regions)
    check_cover(found, cells, regions)
    assert found.dtype == np.int32
    assert found.tolist() == graham(cells, regions, 0.5)
