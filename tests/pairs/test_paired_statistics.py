"""Statistics of paired runs are compared with enumeration and scipy."""

import itertools
import math

import numpy as np
import pytest

from elu_zoo.pairs import statistics

stats = pytest.importorskip("scipy.stats")


def midranks(values):
    return np.array([(values < v).sum() + ((values == v).sum() + 1) / 2 for v in values])


def enumerated(differences):
    """Returns W, P(W <= w) and P(W >= w) from all 2**n choices of signs."""
    ranks, signs = midranks(abs(differences)), np.sign(differences)
    w = ranks[signs > 0].sum()
    flips = np.array(list(itertools.product([0, 1], repeat=len(ranks))))
    all_w = flips @ np.where(signs == 0, 0, ranks)
    return w, (all_w <= w).mean(), (all_w >= w).mean()


# Differences of whole numbers have ties and zeros but no rounding errors.
DRAWS = [(n, spread, seed) for n in range(1, 11) for spread in (1, 3, 99)
         for seed in range(3)]  # fmt: skip


@pytest.mark.parametrize(("n", "spread", "seed"), DRAWS)
def test_p_equals_the_enumeration_of_all_signs(n, spread, seed):
    generator = np.random.default_rng(seed)
    ours, theirs = generator.integers(-spread, spread + 1, (2, n)).astype(float)
    w, less, greater = enumerated(ours - theirs)
    found = statistics.signed_rank_test(ours, theirs)
    assert (found.w, found.p, found.opposite) == (w, less, greater)


def test_one_hundred_tied_pairs_have_an_exact_p():
    less = statistics.signed_rank_test([1.0] * 100, [2.0] * 100)
    assert (less.p, less.opposite, less.w) == (2.0**-100, 1.0, 0.0)


@pytest.mark.parametrize(
    ("differences", "p", "two_sided"),
    [
        ([-1] * 11, 1 / 2048, 1 / 1024),
        ([-1] * 6, 1 / 64, 1 / 32),
        ([-1] * 5, 1 / 32, 1 / 16),
        ([1] * 6, 1, 1 / 32),
        ([6, 5, 4, 3, 2, -1], 63 / 64, 1 / 16),
        # A pair without a difference supports neither activation.
        ([-2, -2, -2, -2, 0], 1 / 16, 1 / 8),
        ([0] * 6, 1, 1),
    ],
)
def test_comparisons_equal_results_by_hand(differences, p, two_sided):
    found = statistics.signed_rank_test(differences, [0.0] * len(differences))
    assert (found.p, found.two_sided) == (p, two_sided)


def test_differences_that_rounding_made_unequal_are_tied():
    ours, theirs = [0.3, 0.2, 28.75, 0.7], [0.2, 0.1, 28.85, 0.7]
    assert len({abs(a - b) for a, b in zip(ours, theirs, strict=True)}) == 4
    assert statistics.signed_rank_test(ours, theirs).w == 6  # (2 + 3 + 4) / 3, twice


@pytest.mark.parametrize("n", [2, 3, 20])
def test_intervals_and_p_equal_those_of_scipy(n):
    first, second = np.random.default_rng(n).normal((0.5, 0), 2, (n, 2)).T
    found = statistics.paired_interval(first, second)
    expected = stats.ttest_rel(first, second)
    assert (found.n, found.mean) == (n, pytest.approx((first - second).mean()))
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(expected.confidence_interval(0.95))
    # The interval with the level 1 - p ends at 0.
    touching = statistics.paired_interval(first, second, level=1 - found.p)
    assert min(abs(touching.low), abs(touching.high)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("second", [[1.5], [0.3, 0.2], [1.0, 1.0]])
def test_without_variance_there_is_no_interval(second):
    # 0.3 - 0.2 and 0.2 - 0.1 are equal but for rounding.
    found = statistics.paired_interval([0.2, 0.1][: len(second)], second)
    assert found.n == len(second)
    assert math.isnan(found.low) == math.isnan(found.p) == (second != [1.0, 1.0])


@pytest.mark.parametrize(
    ("p_values", "corrected"),
    [
        ([], []),
        ([0.03], [0.03]),
        # Holm (1979): the smallest is multiplied by 4, the next by 3, ...
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.04, 0.04, 0.04], [0.12, 0.12, 0.12]),
        ([0.6, 0.001, 0.7], [1, 0.003, 1]),
    ],
)
def test_holm_corrects_p_values(p_values, corrected):
    assert statistics.holm(p_values) == pytest.approx(corrected)
