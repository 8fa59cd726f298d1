"""Claim tests compute effects with intervals, and compare effects with limits."""

import math

import pytest

from elu_zoo.pairs import grouping
from elu_zoo.pairs.grouping import Arm
from elu_zoo.paper.judging import (
    ClaimTest,
    Finding,
    Support,
    difference,
    difference_in_layers,
    final,
    mean_of_layers,
    mean_value,
    wilcoxon_below,
)


def reads(values):
    """Returns a function of rows that returns `values`, by seed if they are a list."""
    return lambda rows: dict(enumerate(values)) if isinstance(values, list) else values


def find(judge, *support):
    """Returns the finding of a claim test that calls `judge` without rows."""
    return ClaimTest("", "", judge, Support(*support)).find([])


def test_difference_compares_pairs_by_students_t():
    found = find(difference(reads([1.0, 2.0, 3.0]), reads([3.0, 3.0, 6.0])))
    assert (found.n, found.effect) == (3, -2)
    # Student's t for two degrees of freedom is 4.303; the standard error is 1 / sqrt 3.
    assert found.low == pytest.approx(-2 - 4.3027 / 3**0.5, rel=1e-4)
    assert found.high == pytest.approx(-2 + 4.3027 / 3**0.5, rel=1e-4)
    assert found.p == pytest.approx(0.0742, abs=1e-4)
    assert (found.wilcoxon, found.outcome) == (1 / 8, "")


def test_values_of_the_same_seed_are_pairs():
    first, second = {0: 1.0, 1: 2.0, 2: 9.0}, {2: 10.0, 1: 3.0, 7: 0.0}
    found = find(difference(reads(first), reads(second)))
    assert (found.n, found.effect) == (2, -1)


@pytest.mark.parametrize("values", [{}, {3: 1.0}])
def test_without_a_pair_of_runs_nothing_is_measured(values):
    assert find(difference(reads(values), reads({0: 1.0}))) == Finding()
    assert find(difference(reads({0: 1.0}), reads(values))) == Finding()
    assert find(mean_value(reads({}))) == Finding()
    assert find(None) == Finding()


@pytest.mark.parametrize(
    ("sense", "limit", "wilcoxon"),
    [("smaller", 0.1, 1 / 8), ("larger", 0.1, 1), ("larger", 0.0, 1 / 8)],
)
def test_a_mean_value_is_compared_with_the_limit(sense, limit, wilcoxon):
    found = find(mean_value(reads([0.01, 0.02, 0.03])), sense, limit)
    assert (found.n, found.wilcoxon) == (3, wilcoxon)
    # The standard error is 0.01 / sqrt 3.
    ends = (found.effect, found.low, found.high)
    assert ends == pytest.approx((0.02, -0.00484, 0.04484), abs=1e-5)
    assert found.p == pytest.approx(0.0052 if limit else 0.0742, abs=1e-4)


@pytest.mark.parametrize(
    ("shift", "n", "outcome"),
    [(0.08, 5, "supports"), (0.12, 5, "contradicts"), (-9, 5, "supports"), (9, 4, "")],
)
def test_the_low_end_of_an_interval_reaches_the_limit(shift, n, outcome):
    # For five values the standard deviation is 0.079 and half of the interval 0.098.
    values = [28.65 + 0.05 * i + shift for i in range(n)]
    found = find(mean_value(reads(values)), "smaller", 28.75, True)
    assert (found.n, found.outcome, math.isnan(found.p)) == (n, outcome, n == 5)


@pytest.mark.parametrize(
    ("support", "supporting", "text"),
    [
        (Support(), [-1], "smaller than 0"),
        (Support("smaller", 1.0584), [-1, 0, 1.0583], "smaller than 1.058"),
        (Support("smaller", 0.5, True), [-1, 0], "lower end smaller than 0.5"),
        (Support("larger", 0), [1.0583, 2], "larger than 0"),
    ],
)
def test_values_beyond_the_limit_support_a_claim(support, supporting, text):
    assert [x for x in (-1, 0, 1.0583, 2) if support.includes(x)] == supporting
    assert str(support) == text


def test_difference_in_layers_compares_means_and_each_layer():
    first = {"a": {0: 1.0, 1: 2.0}, "b": {0: 3.0}}
    second = {"a": {0: 2.0, 1: 4.0}, "b": {0: 1.0}}
    found = find(difference_in_layers(reads(first), reads(second)))
    # The means of seed 0 are 2 and 1.5, of seed 1 they are 2 and 4.
    assert (found.n, found.effect) == (2, -0.75)
    assert [layer.effect for layer in found.layers] == [-1.5, 2]
    assert find(difference_in_layers(reads({}), reads({}))) == Finding()


def test_mean_of_layers_skips_missing_layers():
    assert mean_of_layers({"a": {0: 1.0, 1: 5.0}, "b": {0: 3.0}}) == {0: 2.0, 1: 5.0}


def test_an_effect_that_decides_nothing_is_reported():
    test = ClaimTest("", "", mean_value(reads([1.0, 2.0])), decides=False)
    found = test.find([])
    assert (found.n, found.effect, found.outcome) == (2, 1.5, "decides nothing")
    assert math.isnan(found.p) and test.supports_if == ""
    assert ClaimTest("", "", decides=False).find([]) == Finding()


def test_a_test_of_a_variant_counts_once_the_variant_has_runs():
    test = ClaimTest("", "", variant="a")
    assert [test.counts([{"variant": x}]) for x in "ab"] == [True, False]
    assert ClaimTest("", "").counts([])


LOW, HIGH = [1.0 + i for i in range(10)], [2.0 + i for i in range(10)]


@pytest.mark.parametrize(
    ("first", "second", "n", "outcome"),
    [
        (LOW, HIGH, 10, "supports"),
        (HIGH, LOW, 10, "contradicts"),
        ([*LOW[:9], 12.0], HIGH, 10, "no difference"),
        (LOW[:9], HIGH, 9, "too few pairs"),
        ([], HIGH, 0, ""),
    ],
)
def test_wilcoxon_below_needs_its_level_and_pairs(first, second, n, outcome):
    found = find(wilcoxon_below(0.001, 10, reads(first), reads(second)))
    assert (found.n, found.outcome) == (n, outcome)
    assert math.isnan(found.p)


def test_final_reads_the_last_value_by_seed():
    key = {"activation": "elu", "batch_norm": "False", "variant": "", "seed": "3"}
    rows = [key | {"loss": "10"}, key | {"loss": "-20"}]
    assert final(Arm("elu"), "loss")(grouping.frame(rows)) == {3: -20}
