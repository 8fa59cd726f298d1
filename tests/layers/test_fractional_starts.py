"""The starts of fractional pooling regions are the starts of Graham's formula."""

import numpy as np
import pytest
from graham_regions import check_cover, graham

from elu_zoo.layers.fractional_max_pooling import even_starts, phased_starts, shuffled_starts

# (cells, regions): the sizes of Graham's network, and extreme sizes.
SIZES = [
    (93, 74), (73, 58), (57, 45), (44, 35), (34, 27), (26, 21), (20, 16), (15, 12),
    (11, 9), (8, 6), (5, 4), (3, 2), (2, 1), (4, 2), (8, 7), (14, 7), (13, 7), (5, 3),
]  # fmt: skip


@pytest.mark.parametrize("cells, regions", SIZES)
def test_pseudorandom_starts_equal_the_formula(cells, regions):
    distinct = set()
    for u in [*np.random.default_rng(0).random(20, np.float32), 0, 1 - 2**-24]:
        starts = np.asarray(phased_starts(cells, regions, np.array([u], np.float32)))
        check_cover(starts, cells, regions)
        # In float32 the product of the last u and the number of cells is rounded.
        if u < 1 - 2**-20:
            assert starts.tolist() == graham(cells, regions, float(u))
        distinct.add(tuple(starts))
    depend_on_u = regions - 1 < cells - 2 < 2 * (regions - 1)  # both distances occur
    assert len(distinct) > 1 if depend_on_u else len(distinct) == 1


@pytest.mark.parametrize("cells, regions", SIZES)
def test_random_starts_have_shuffled_distances(cells, regions):
    draws = np.random.default_rng(0)
    for _ in range(3):
        u = draws.random(regions - 1, np.float32)
        starts = np.asarray(shuffled_starts(cells, regions, u))
        check_cover(starts, cells, regions)
        order = np.argsort(u, kind="stable")
        distances = np.diff(graham(cells, regions, 0.5))[order]
        assert starts.tolist() == [0, *np.cumsum(distances)]


@pytest.mark.slow
def test_orders_of_the_distances_are_equally_likely():
    draws, counts = np.random.default_rng(0).random((600, 4), np.float32), {}
    for u in draws:
        starts = tuple(np.asarray(shuffled_starts(2 + 6, 1 + 4, u)))
        counts[starts] = counts.get(starts, 0) + 1
    assert len(counts) == 6  # orders of the distances 1, 1, 2, 2
    expected = 600 / 6
    assert max(abs(n - expected) for n in counts.values()) < 5 * np.sqrt(expected)


@pytest.mark.parametrize("cells, regions", SIZES)
def test_even_starts_equal_the_formula_at_u_0_5(cells, regions):
    starts = even_starts(cells, regions)
    check_cover(starts, cells, regions)
    assert starts.dtype == np.int32
    assert starts.tolist() == graham(cells, regions, 0.5)
