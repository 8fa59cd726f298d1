"""Activations are tested against the reference: intervals, p, verdicts, ranks."""

import math

import numpy as np
import pytest

from elu_zoo.compare import paired_tests
from elu_zoo.pairs import statistics

NAN = math.nan
REFERENCE = (5.0, 5.2, 4.9, 5.1, 5.0)


def compared(*others, reference=REFERENCE):
    runs = {f"activation{i}": dict(enumerate(values)) for i, values in enumerate(others)}
    return paired_tests.compared({"elu": dict(enumerate(reference))} | runs)


@pytest.mark.parametrize("seed", range(30))
def test_intervals_agree_with_holm(seed):
    """An interval excludes 0 exactly where Holm's p is at most the level."""
    draw = np.random.default_rng(seed)
    means = draw.choice([0, 0.5, 1, 1.5, 3], 6)
    pairs = {i: (draw.normal(mean, 1, 6), [0] * 6) for i, mean in enumerate(means)}
    found = paired_tests.intervals(pairs).values()
    agree = [(p <= 0.05) == (not x.low <= 0 <= x.high) for x, p in found]
    assert agree == [True] * 6


def test_the_first_interval_has_bonferronis_width():
    first, second = [0.1, -0.2, 0.3, 0.2, 0.1], [0.2, -0.1, 0.1, 0.3, -0.2]
    # The third difference does not vary: it is no test, and corrects none.
    pairs = {"a": (first, [0] * 5), "b": (second, [0] * 5), "c": ([2] * 5, [1] * 5)}
    (interval, p), _, (without, no_p) = paired_tests.intervals(pairs).values()
    assert math.isnan(without.low) and math.isnan(no_p)
    wide = statistics.paired_interval(first, [0] * 5, 1 - 0.05 / 2)
    assert (interval.low, interval.high) == pytest.approx((wide.low, wide.high))
    assert p == pytest.approx(2 * wide.p)


SHIFTS = np.array([0.01, -0.01, 0.02, 0, -0.02])


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (np.add(REFERENCE, 1 + SHIFTS), "higher error"),
        (np.add(REFERENCE, -1 + SHIFTS), "lower error"),
        (np.add(REFERENCE, 20 * SHIFTS), "cannot be told apart"),
        (REFERENCE, "not tested: equal differences"),
        # Equal but for rounding: 5.3 - 5.0 is not 5.2 - 4.9 in float64.
        (np.add(REFERENCE, 0.3), "not tested: equal differences"),
        (np.nextafter(REFERENCE, 9), "not tested: equal differences"),
        ((9.0, 9.1, 9.2, 9.1), "too few pairs"),
        ((9.0, 9.1, NAN, 9.2, 9.1), "not tested"),
        ((NAN,) * 5, "not tested"),
        ((), "not tested"),
    ],
)
def test_the_interval_and_the_number_of_pairs_decide_the_verdict(values, verdict):
    reference, found = compared(values)
    assert (reference.verdict, found.verdict) == ("reference", verdict)
    is_tested = "error" in verdict or "apart" in verdict
    has_wilcoxon = is_tested or "equal" in verdict  # exact for any differences
    assert math.isnan(found.p) == math.isnan(found.difference.low if found.difference else NAN)
    assert (math.isnan(found.p), math.isnan(found.wilcoxon)) == (not is_tested, not has_wilcoxon)
    assert (found.rank is None) == (verdict == "not tested")


def test_equal_means_have_equal_ranks():
    found = compared(REFERENCE, np.add(REFERENCE, 1), np.subtract(REFERENCE, 1))
    assert [each.rank for each in found] == [2, 2, 4, 1]
    errors = [6.8, 2.8, 8.6, 8.2, 1.2]  # their sum depends on their order in float64
    found = compared(errors, errors[::-1], reference=[9.0] * 5)
    assert [each.rank for each in found] == [3, 1, 1]
