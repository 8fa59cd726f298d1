"""Claim tests have effects with intervals, outcomes by limits, and verdicts."""

import numpy as np
import pandas as pd
import pytest

from elu_zoo.pairs import grouping
from elu_zoo.pairs.grouping import Arm
from elu_zoo.paper import claims
from elu_zoo.paper.claims import (
    Claim,
    ClaimTest,
    Effect,
    difference,
    difference_in_layers,
    equals,
    final,
    mean_value,
    wilcoxon,
)

EMPTY = pd.DataFrame()


def reads(values):
    """Returns a function of rows that returns `values`, by seed if they are a list."""
    return lambda rows: dict(enumerate(values)) if isinstance(values, list) else values


def measured(find, **fields):
    return ClaimTest("", "", find, **fields).measured(EMPTY)


def test_difference_compares_pairs_by_students_t():
    found = measured(difference(reads([1.0, 2.0, 3.0]), reads([3.0, 3.0, 6.0])))
    assert (found.n, found.effect) == (3, -2)
    # Student's t for two degrees of freedom is 4.303; the standard error is 1 / sqrt 3.
    assert found.low == pytest.approx(-2 - 4.3027 / 3**0.5, rel=1e-4)
    assert found.high == pytest.approx(-2 + 4.3027 / 3**0.5, rel=1e-4)
    assert found.p == pytest.approx(0.0742, abs=1e-4)
    assert found.outcome == ""


def test_values_of_the_same_seed_are_pairs():
    first, second = {0: 1.0, 1: 2.0, 2: 9.0}, {2: 10.0, 1: 3.0, 7: 0.0}
    found = measured(difference(reads(first), reads(second)))
    assert (found.n, found.effect) == (2, -1)
    assert measured(difference(reads({3: 1.0}), reads(first))) == Effect()


@pytest.mark.parametrize(("larger", "limit"), [(False, 0.1), (True, 0.0)])
def test_a_mean_value_is_compared_with_the_limit(larger, limit):
    found = measured(mean_value(reads([0.01, 0.02, 0.03])), larger=larger, limit=limit)
    assert found.n == 3
    # The standard error is 0.01 / sqrt 3.
    ends = (found.effect, found.low, found.high)
    assert ends == pytest.approx((0.02, -0.00484, 0.04484), abs=1e-5)
    assert found.p == pytest.approx(0.0052 if limit else 0.0742, abs=1e-4)


@pytest.mark.parametrize(
    ("values", "p", "outcome"),
    [
        ([29.8], 0.0024, "differs"),
        ([20.0], 6.66e-11, "differs"),
        ([29.2], 0.107, "inconclusive"),
        ([28.9], 0.568, "inconclusive"),
        ([28.7, 28.8, 28.75, 28.76, 28.84], 0.880, "supports"),
        ([27.0, 28.5, 30.5], 0.92, "inconclusive"),  # our deviation is the larger one
    ],
)
def test_a_number_of_the_paper_is_equalled_by_an_interval_within_the_limit(values, p, outcome):
    # For one value half of the interval is 2.262 * 0.24 * sqrt(1.1) = 0.569.
    found = measured(equals(reads(values), 28.75, 0.24, runs=10), limit=0.5, within=True)
    deviation = max(0.24, np.std(values, ddof=1) if len(values) > 1 else 0)
    # Student's t of 9 degrees of freedom is 2.2622, of 2 degrees 4.3027.
    half = (2.2622 if deviation == 0.24 else 4.3027) * deviation * (1 / len(values) + 1 / 10) ** 0.5
    mean = sum(values) / len(values) - 28.75
    ends = found.effect, found.low, found.high
    assert ends == pytest.approx((mean, mean - half, mean + half), abs=1e-4)
    assert (found.n, found.outcome) == (len(values), outcome)
    assert found.p == pytest.approx(p, rel=0.1)


@pytest.mark.parametrize(
    ("fields", "supporting", "text"),
    [
        ({}, [-1], "smaller than 0"),
        ({"limit": 1.0584}, [-1, 0, 1.0583], "smaller than 1.058"),
        ({"limit": 0.5, "within": True}, [-1, 0], "interval within ±0.5"),
        ({"larger": True}, [1.0583, 2], "larger than 0"),
    ],
)
def test_values_beyond_the_limit_support_a_claim(fields, supporting, text):
    test = ClaimTest("", "", None, **fields)
    assert [x for x in (-1, 0, 1.0583, 2) if test.supports(x)] == supporting
    assert test.supports_if == text


def test_difference_in_layers_compares_means_and_each_layer():
    first = {"a": {0: 1.0, 1: 2.0}, "b": {0: 3.0, 1: 9.0}, "c": {0: 9.0}}
    second = {"a": {0: 2.0, 1: 4.0}, "b": {0: 1.0}}
    found = measured(difference_in_layers(reads(first), reads(second)))
    # The means of seed 0 are 2 and 1.5, of seed 1 they are 2 and 4.
    assert (found.n, found.effect) == (2, -0.75)
    assert [layer.effect for layer in found.layers[:2]] == [-1.5, 2]


LOW, HIGH = [1.0 + i for i in range(10)], [2.0 + i for i in range(10)]


@pytest.mark.parametrize(
    ("first", "second", "n", "outcome"),
    [
        (LOW, HIGH, 10, "supports"),
        (HIGH, LOW, 10, "contradicts"),
        ([*LOW[:9], 12.0], HIGH, 10, "inconclusive"),
        (LOW[:9], HIGH, 9, "too few pairs"),
        ([], HIGH, 0, ""),
    ],
)
def test_wilcoxon_needs_its_level_and_pairs(first, second, n, outcome):
    found = measured(wilcoxon(reads(first), reads(second)))
    assert (found.n, found.outcome) == (n, outcome)


def test_final_reads_the_last_value_by_seed():
    key = {"activation": "elu", "batch_norm": "False", "variant": "", "seed": "3"}
    rows = [key | {"loss": "10"}, key | {"loss": "-20"}]
    assert final(Arm("elu"), "loss")(grouping.frame(rows)) == {3: -20}


def effect(value, p, n=5, layers=()):
    return Effect(n, value, p=p, layers=tuple(layers))


def outcomes(effects, **fields):
    """Returns the outcomes of a claim whose tests have these effects."""
    tests = [
        ClaimTest(str(i), "", lambda rows, test, x=x: x, **fields) for i, x in enumerate(effects)
    ]
    found = claims.judge(Claim("", "", "", "", tuple(tests)), EMPTY)
    return [judged.outcome for _, judged in found]


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([effect(-1, 0.05)], ["supports"]),
        ([effect(-1, 0.051)], ["no difference"]),
        ([effect(-1, 0.001, n=4)], ["too few pairs"]),
        ([Effect()], ["not measured"]),
        # Holm's method doubles the smaller of two p. The larger p stays, but becomes
        # the doubled p if that is larger.
        ([effect(-1, 0.03), effect(-1, 0.04)], ["no difference"] * 2),
        ([effect(-1, 0.02), effect(1, 0.04)], ["supports", "contradicts"]),
        # The correction excludes tests without p.
        ([effect(-1, 0.04), Effect(), Effect(9, outcome="supports")],
         ["supports", "not measured", "supports"]),
        ([effect(-1, 1e-4, layers=[effect(-1, 1e-4), effect(1, 1e-4)]), effect(1, 1e-4)],
         ["layers disagree", "contradicts"]),
        # The correction includes the tests of single layers.
        ([effect(-1, 0.02, layers=[effect(-1, 0.02), effect(-1, 0.02)])],
         ["no difference"]),
    ]
)  # fmt: skip
def test_outcomes_follow_from_corrected_p(effects, expected):
    assert outcomes(effects) == expected


YES, NO, OPEN, MISSING = "supports", "contradicts", "no difference", "not measured"


@pytest.mark.parametrize(
    ("outcomes", "whole", "early"),
    [
        ([YES, YES], "reproduced", "reproduced in early training"),
        ([YES, YES, MISSING], "mixed", "mixed"),
        ([NO, NO, MISSING], "contradicted", "not tested"),
        ([YES, NO], "mixed", "mixed"),
        ([NO, OPEN], "mixed", "not tested"),
        (["layers disagree"], "mixed", "mixed"),
        ([YES, "diverged"], "mixed", "mixed"),
        ([YES, "at chance"], "mixed", "mixed"),
        ([YES, "too few pairs"], "mixed", "mixed"),
        (["diverged", OPEN, "too few pairs", "equal"], "undecided", "undecided"),
        (["inconclusive", "at chance"], "undecided", "undecided"),
        (["diverged", "at chance", "too few pairs", "equal"], "not tested", "not tested"),
        (["differs", NO, OPEN, MISSING], "different", "not tested"),
        (["differs", YES], "mixed", "mixed"),
        ([MISSING], "not tested", "not tested"),
    ],
)
def test_the_verdict_follows_from_outcomes_and_the_share_of_the_schedule(outcomes, whole, early):
    found = [claims.verdict(outcomes, share) for share in (1, 0.999, 0.02, 0)]
    assert found == [whole, early, early, "not tested"]
    assert {whole, early} <= set(claims.VERDICTS)
