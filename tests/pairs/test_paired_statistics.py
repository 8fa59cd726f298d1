"""Statistics of paired runs are compared with enumeration, scipy and printed tables."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.pairs import statistics

stats = pytest.importorskip("scipy.stats")
NAN = math.nan


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
    found = statistics.paired(ours, theirs)
    assert (found.n, found.w, found.p, found.opposite) == (n, w, less, greater)


@pytest.mark.parametrize("n", [2, 10, 40])
def test_p_equals_the_p_of_scipy(n):
    ours, theirs = np.random.default_rng(n).normal(size=(2, n))
    found = statistics.paired(ours, theirs)
    for alternative, p in ("less", found.p), ("greater", found.opposite):
        expected = stats.wilcoxon(ours, theirs, alternative=alternative, method="exact")
        assert p == pytest.approx(expected.pvalue, rel=1e-12)
        assert found.w == expected.statistic


def test_one_hundred_tied_pairs_have_an_exact_p():
    less = statistics.paired([1.0] * 100, [2.0] * 100)
    assert (less.p, less.opposite, less.w) == (2.0**-100, 1.0, 0.0)


def against_zero(differences):
    return statistics.paired(differences, [0.0] * len(differences))


@pytest.mark.parametrize(
    ("differences", "p", "effect", "text", "verdict"),
    [
        ([-1] * 11, 1 / 2048, -1, "p < 0.001 (n = 11)", "holds"),
        ([-1] * 9, 1 / 512, -1, "p = 0.004 (n = 9)", "holds"),
        ([-1] * 6, 1 / 64, -1, "p = 0.031 (n = 6)", "holds"),
        ([-1] * 5, 1 / 32, -1, "p = 0.062 (n = 5)", "not decided"),
        ([-1], 1 / 2, -1, "p = 1.000 (n = 1)", "not decided"),
        ([1] * 6, 1, 1, "p = 0.031 (n = 6)", "does not hold"),
        ([1] * 5, 1, 1, "p = 0.062 (n = 5)", "not decided"),
        ([-6, -5, -4, -3, -2, 1], 2 / 64, -19 / 21, "p = 0.062 (n = 6)", "not decided"),
        ([6, 5, 4, 3, 2, -1], 63 / 64, 19 / 21, "p = 0.062 (n = 6)", "not decided"),
        # A pair without a difference supports neither activation.
        ([-2, -2, -2, -2, 0], 1 / 16, -14 / 15, "p = 0.125 (n = 5)", "not decided"),
        ([0] * 9 + [-1], 1 / 2, -10 / 55, "p = 1.000 (n = 10)", "not decided"),
        ([0] * 6, 1, 0, "p = 1.000 (n = 6)", "not decided"),
        ([-1, 1], 3 / 4, 0, "p = 1.000 (n = 2)", "not decided"),
    ],
)
def test_comparisons_equal_results_by_hand(differences, p, effect, text, verdict):
    found = against_zero(differences)
    assert found.p == p
    assert found.effect == pytest.approx(effect)
    assert statistics.p_text(found) == text
    assert statistics.verdict(found) == verdict


def test_differences_that_rounding_made_unequal_are_tied():
    ours, theirs = [0.3, 0.2, 28.75, 0.7], [0.2, 0.1, 28.85, 0.7]
    assert len({abs(a - b) for a, b in zip(ours, theirs, strict=True)}) == 4
    assert statistics.paired(ours, theirs).w == 6  # (2 + 3 + 4) / 3, twice


# Two-sided 95 % quantiles of Student's t, from a printed table.
T_TABLE = {2: 12.706, 3: 4.303, 5: 2.776, 10: 2.262, 20: 2.093}


@pytest.mark.parametrize("n", T_TABLE)
def test_student_intervals_equal_the_table_and_scipy(n):
    differences = np.random.default_rng(n).normal(0.5, 2, n)
    found = statistics.student_interval(differences)
    error = math.sqrt(((differences - differences.mean()) ** 2).sum() / (n - 1) / n)
    assert (found.n, found.mean) == (n, pytest.approx(differences.mean()))
    assert (found.high - found.mean) / error == pytest.approx(T_TABLE[n], abs=6e-4)
    assert (found.mean - found.low) / error == pytest.approx(T_TABLE[n], abs=6e-4)
    assert found.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    # The interval with the level 1 - p ends at 0.
    touching = statistics.student_interval(differences, level=1 - found.p)
    assert min(abs(touching.low), abs(touching.high)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([-0.5], (1, -0.5, NAN, NAN, NAN)),
        ([-0.1, -0.1, -0.1], (3, -0.1, NAN, NAN, NAN)),
        (
            [0.1, 0.3 - 0.2, 0.4 - 0.3],
            (3, 0.1, NAN, NAN, NAN),
        ),  # equal but for rounding
        ([0, 0], (2, 0, NAN, NAN, NAN)),
    ],
)
def test_without_variance_there_is_no_interval(differences, expected):
    found = statistics.student_interval(differences)
    assert dataclasses.astuple(found) == pytest.approx(expected, nan_ok=True)


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


@pytest.mark.parametrize("scale", [0.0, 1e-90, 1e90])
def test_very_small_and_very_large_values_have_an_exact_p(scale):
    found = against_zero([-scale, -2 * scale, -3 * scale])
    assert found.p == (1 / 8 if scale else 1)


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ([1, 2], [1], "2 first and 1 second values"),
        ([], [], "first must be one or more finite numbers"),
        ([1, 2], [1, -math.inf], "second must be one or more finite numbers"),
        ([[1, 2]], [[1, 2]], "finite numbers"),
    ],
)
def test_wrong_arguments_of_a_comparison_raise_an_error(ours, theirs, words):
    with pytest.raises(errors.UsageError, match=words):
        statistics.paired(ours, theirs)


@pytest.mark.parametrize("values", [[], [1, math.inf], [NAN]])
def test_student_interval_raises_for_values_that_are_not_finite(values):
    with pytest.raises(errors.UsageError, match="finite numbers"):
        statistics.student_interval(values)
