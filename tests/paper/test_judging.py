"""Tests of claims: five pairs at least, in the claim's direction."""

import math

import pytest

from elu_zoo.paper.grouping import Arm
from elu_zoo.paper.judging import Finding, below, final, lower

NAN = math.nan


def reads(values):
    """Returns a reader of these values by seed."""
    return lambda rows: dict(enumerate(values)) if isinstance(values, list) else values


def compared(first, second, **limits):
    return lower(reads(first), reads(second), **limits)([])


@pytest.mark.parametrize(
    ("n", "limits", "verdict"),
    [
        (4, {}, "not decided"),
        (5, {}, "holds"),
        (4, {"level": 0.5}, "not decided"),
        (9, {"level": 0.001, "least": 10}, "not decided"),
        (9, {"level": 0.001}, "not decided"),  # p is 1/512
        (10, {"level": 0.001, "least": 10}, "holds"),
    ],
)
def test_how_many_pairs_decide(n, limits, verdict):
    high, low = [2.0 + i for i in range(n)], [1.0 + i for i in range(n)]
    found = compared(low, high, **limits)
    assert (found.verdict, found.n, found.effect) == (verdict, n, -1)
    assert found.p == 2.0**-n
    found = compared(high, low, **limits)
    opposite = "does not hold" if verdict == "holds" else "not decided"
    assert (found.verdict, found.effect, found.p) == (opposite, 1, 1)


def test_all_of_five_pairs_have_to_agree():
    assert compared([1.0] * 4 + [2.5], [2.0] * 5).verdict == "not decided"


def test_pairs_have_the_same_seed():
    found = compared({0: 1.0, 1: 2.0, 2: 9.0}, {2: 10.0, 1: 3.0, 7: 0.0})
    assert (found.n, found.effect) == (2, -1)


@pytest.mark.parametrize("first", [{}, {3: 1.0}])
def test_nothing_to_compare(first):
    for pair in (first, {0: 1.0}), ({0: 1.0}, first):
        found = compared(*pair)
        assert (found.n, found.verdict) == (0, "not decided")
        assert math.isnan(found.effect) and math.isnan(found.p)


def test_few_pairs_are_not_shown():
    found = compared([1.0] * 3, [2.0] * 3, shown=4)
    assert found.n == 3 and math.isnan(found.effect)
    assert compared([1.0] * 3, [2.0] * 3, shown=3).effect == -1


@pytest.mark.parametrize(
    ("values", "verdict", "p"),
    [
        ([0.01, 0.02, 0.03, 0.04, 0.09], "holds", 1 / 32),
        ([0.01, 0.02, 0.03, 0.04], "not decided", 1 / 16),
        ([0.11, 0.2, 0.3, 0.4, 0.9], "does not hold", 1),
    ],
)
def test_below(values, verdict, p):
    found = below(0.1, reads(values))([])
    assert (found.n, found.verdict, found.p) == (len(values), verdict, p)
    assert found.effect == pytest.approx(sum(values) / len(values))
    assert found.low < found.effect < found.high


def test_nothing_is_below():
    assert below(0.1, reads({}))([]) == Finding()


def test_final():
    key = {"activation": "elu", "batch_norm": "False", "variant": "", "seed": "3"}
    rows = [key | {"loss": "10"}, key | {"loss": "-20"}]
    assert final(Arm("elu"), "loss")(rows) == {3: -20}
    assert final(Arm("elu"), "loss")([]) == {}
