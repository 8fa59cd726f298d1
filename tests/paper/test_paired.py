"""Tests of pairs: which units are compared, and what is written of them."""

import pytest

from elu_zoo.paper import grouping, paired

MEASURES = {"error": "test error %"}


def rows(batch_norm="False", variant="", **units):
    """Runs of units, one a seed, with these errors."""
    return [
        {"activation": unit, "batch_norm": batch_norm, "variant": variant}
        | {"seed": str(seed), "error": str(error)}
        for unit, values in units.items()
        for seed, error in enumerate(values)
    ]


def lines(found):
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in found.splitlines()[2:]
    ]


LOW, HIGH = (1.0, 1.1, 1.2, 1.3, 1.4), (2.0, 2.2, 2.4, 2.6, 2.8)


@pytest.mark.parametrize(
    ("units", "pair", "verdict"),
    [
        ({"elu": LOW, "relu": HIGH}, "ELU - ReLU", "ELU"),
        ({"elu": HIGH, "relu": LOW}, "ELU - ReLU", "ReLU"),
        ({"elu": LOW, "relu": LOW}, "ELU - ReLU", "not decided"),
        ({"elu": LOW[:4], "relu": HIGH}, "ELU - ReLU", "not decided"),
        ({"relu": HIGH, "my_own": LOW}, "my_own - ReLU", "my_own"),
        ({"elu": HIGH, "my_own": LOW}, "ELU - my_own", "my_own"),
    ],
)
def test_one_pair(units, pair, verdict):
    ((title, names, n, difference, _, p, effect, lower),) = lines(
        paired.table(rows(**units), MEASURES)
    )
    assert (title, names, lower) == ("test error %", pair, verdict)
    assert n == str(min(map(len, units.values()))) and f"n = {n}" in p
    assert " to " in difference and -1 <= float(effect) <= 1


def test_like_is_compared_with_like():
    given = [*rows(elu=LOW, relu=HIGH), *rows("True", elu=LOW, relu=HIGH),
             *rows(variant="lr 1", elu=LOW[:1], relu=HIGH[:1])]  # fmt: skip
    found = lines(paired.table(given, MEASURES))
    assert [(of, pair) for of, _, pair, *_ in found] == [
        ("", "ELU - ReLU"), ("lr 1", "ELU - ReLU"), ("", "ELU + BN - ReLU + BN")
    ]  # fmt: skip
    assert found[1][4] == "-1"  # of one pair there is no interval


@pytest.mark.parametrize(
    "units", [{"elu": LOW}, {"elu": LOW[:1], "relu": ("",)}, {"relu": HIGH}]
)
def test_nothing_to_compare(units):
    assert paired.table(rows(**units), MEASURES) == ""
    assert paired.table(rows(elu=LOW, relu=HIGH), {}) == ""


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (("relu", "elu", "my_own"), "elu"),
        (("relu", "my_own", "leaky_relu"), "my_own"),
        (("leaky_relu", "relu"), "relu"),
    ],
)
def test_the_unit_that_others_are_compared_with(units, expected):
    assert grouping.reference(rows(**dict.fromkeys(units, LOW))) == expected
