"""Claim tests: paired differences, of which a negative one supports the claim."""

import math

import pytest

from elu_zoo.paper.grouping import Arm
from elu_zoo.paper.judging import (
    Finding,
    below,
    constant,
    final,
    lower,
    lower_in_layers,
    mean_of_layers,
    wilcoxon_below,
)


def reads(values):
    """Returns a reader of these values by seed."""
    return lambda rows: dict(enumerate(values)) if isinstance(values, list) else values


def test_lower():
    found = lower(reads([1.0, 2.0, 3.0]), reads([3.0, 3.0, 6.0]))([])
    assert (found.n, found.effect) == (3, -2)
    # Student's t for two degrees of freedom is 4.303; the standard error is 1 / sqrt 3.
    assert found.low == pytest.approx(-2 - 4.3027 / 3**0.5, rel=1e-4)
    assert found.high == pytest.approx(-2 + 4.3027 / 3**0.5, rel=1e-4)
    assert found.p == pytest.approx(0.0742, abs=1e-4)
    assert (found.wilcoxon, found.outcome) == (1 / 8, "")


def test_pairs_have_the_same_seed():
    found = lower(reads({0: 1.0, 1: 2.0, 2: 9.0}), reads({2: 10.0, 1: 3.0, 7: 0.0}))([])
    assert (found.n, found.effect) == (2, -1)


@pytest.mark.parametrize("values", [{}, {3: 1.0}])
def test_nothing_to_compare(values):
    assert lower(reads(values), reads({0: 1.0}))([]) == Finding()
    assert lower(reads({0: 1.0}), reads(values))([]) == Finding()


def test_below():
    found = below(0.1, reads([0.01, 0.02, 0.03]))([])
    assert found.n == 3 and found.effect == pytest.approx(-0.08)
    assert below(0.1, reads({}))([]) == Finding()


def test_constant():
    assert constant(1.5, reads({3: 0.1, 4: 0.2}))([]) == {3: 1.5, 4: 1.5}


def test_lower_in_layers():
    first = {"a": {0: 1.0, 1: 2.0}, "b": {0: 3.0}}
    second = {"a": {0: 2.0, 1: 4.0}, "b": {0: 1.0}}
    found = lower_in_layers(reads(first), reads(second))([])
    # The means of seed 0 are 2 and 1.5, of seed 1 they are 2 and 4.
    assert (found.n, found.effect) == (2, -0.75)
    assert [layer.effect for layer in found.layers] == [-1.5, 2]
    assert lower_in_layers(reads({}), reads({}))([]) == Finding()


def test_mean_of_layers():
    assert mean_of_layers({"a": {0: 1.0, 1: 5.0}, "b": {0: 3.0}}) == {0: 2.0, 1: 5.0}


LOW, HIGH = [1.0 + i for i in range(10)], [2.0 + i for i in range(10)]


@pytest.mark.parametrize(
    ("first", "second", "n", "outcome"),
    [
        (LOW, HIGH, 10, "supports"),
        (HIGH, LOW, 10, "contradicts"),
        ([*LOW[:9], 12.0], HIGH, 10, "no difference"),
        (LOW[:9], HIGH, 0, ""),
    ],
)
def test_wilcoxon_below(first, second, n, outcome):
    found = wilcoxon_below(0.001, 10, reads(first), reads(second))([])
    assert (found.n, found.outcome) == (n, outcome)
    assert math.isnan(found.p)


def test_final():
    key = {"activation": "elu", "batch_norm": "False", "variant": "", "seed": "3"}
    rows = [key | {"loss": "10"}, key | {"loss": "-20"}]
    assert final(Arm("elu"), "loss")(rows) == {3: -20}
    assert final(Arm("elu"), "loss")([]) == {}
