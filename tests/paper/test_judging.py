"""How claims are judged: by pairs, five at least, and in the claim's direction."""

import math

import pytest

from elu_zoo.paper import judging
from elu_zoo.paper.judging import at, below, final, lower

NAN = math.nan


def reads(values):
    """What reads these values, by seed, whatever the points."""
    return lambda rows: dict(enumerate(values)) if isinstance(values, list) else values


def compared(ours, theirs, **limits):
    return lower(reads(ours), reads(theirs), "the loss", **limits)({})


@pytest.mark.parametrize(
    ("n", "least", "level", "verdict"),
    [
        (1, 5, 0.05, "not decided"),
        (4, 5, 0.05, "not decided"),
        (4, 5, 0.5, "not decided"),  # p is 1/16, and five are wanted
        (5, 5, 0.05, "holds"),
        (9, 10, 0.001, "not decided"),
        (9, 5, 0.001, "not decided"),  # p is 1/512
        (10, 10, 0.001, "holds"),
    ],
)
def test_how_many_pairs_decide(n, least, level, verdict):
    high, low = [2.0 + i for i in range(n)], [1.0 + i for i in range(n)]
    found = compared(low, high, level=level, least=least)
    assert (found.verdict, found.n, found.effect) == (verdict, n, -1)
    assert found.p == 2.0**-n
    found = compared(high, low, level=level, least=least)
    opposite = "does not hold" if verdict == "holds" else "not decided"
    assert (found.verdict, found.effect, found.p) == (opposite, 1, 1)


def test_defaults_of_lower():
    """Five pairs that agree decide; four do not, nor five of which one does not."""
    assert compared([1.0] * 5, [2.0] * 5).verdict == "holds"
    assert compared([1.0] * 4, [2.0] * 4).verdict == "not decided"
    assert compared([1.0] * 4 + [2.5], [2.0] * 5).verdict == "not decided"


def test_pairs_are_of_the_same_seed():
    ours, theirs = {0: 1.0, 1: 2.0, 2: 9.0}, {2: 10.0, 1: 3.0, 7: 0.0}
    found = lower(reads(ours), reads(theirs), "loss")({})
    assert (found.n, found.effect, found.low, found.high) == (2, -1, -1, -1)
    assert found.measure == "loss"


def test_an_interval_is_of_the_difference():
    found = compared([1.0, 2.0, 3.0, 4.0, 5.0], [3.0, 3.0, 6.0, 5.0, 9.0])
    assert found.effect == pytest.approx(-2.2)
    assert -4 <= found.low < -2.2 < found.high <= -1


@pytest.mark.parametrize("ours", [{}, {3: 1.0}])
def test_nothing_to_compare(ours):
    for pair in (ours, {0: 1.0}), ({0: 1.0}, ours):
        found = lower(*map(reads, pair), "loss")({})
        assert (found.n, found.verdict, found.measure) == (0, "not decided", "loss")
        assert math.isnan(found.effect) and math.isnan(found.p)


@pytest.mark.parametrize(
    ("values", "verdict", "p"),
    [
        ([0.01, 0.02, 0.03, 0.04, 0.09], "holds", 1 / 32),
        ([0.01, 0.02, 0.03, 0.04], "not decided", 1 / 16),
        ([0.11, 0.2, 0.3, 0.4, 0.9], "does not hold", 1),
        ([0.01, 0.2, 0.02, 0.3, 0.1], "not decided", NAN),
    ],
)
def test_below(values, verdict, p):
    found = below(0.1, reads(values), "share")({})
    assert (found.n, found.verdict, found.measure) == (len(values), verdict, "share")
    assert found.effect == pytest.approx(sum(values) / len(values))
    assert min(values) <= found.low < found.effect < found.high <= max(values)
    assert found.p == p or math.isnan(p)


def test_nothing_to_be_below():
    found = below(0.1, reads({}), "share")({})
    assert (found.n, found.verdict, found.measure) == (0, "not decided", "share")


def row(epoch, loss, activation="elu", seed=0, batch_norm="False", variant="", **more):
    key = {"activation": activation, "batch_norm": batch_norm, "variant": variant}
    return key | {"seed": str(seed), "epoch": epoch, "loss": loss} | more


ROWS = {
    "fig": [
        row("1", "10"),
        row("2", "-20"),
        row("1", "11", seed=1),
        row("2", "21", seed=1),
        row("1", "12", seed=2, diverged="nan"),
        row("2", "30", "relu"),
        row("2", "40", batch_norm="True"),
        row("2", "50", variant="lr 1"),
    ],
    "other": [row("1", "60")],
}


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (final("fig", "elu", "loss"), {0: -20, 1: 21}),
        (final("fig", "relu", "loss"), {0: 30}),
        (final("fig", "elu+bn", "loss"), {0: 40}),
        (final("fig", "elu", "loss", "lr 1"), {0: 50}),
        (final("other", "elu", "loss"), {0: 60}),
        (final("fig", "tanh", "loss"), {}),
        (final("fig", "relu+bn", "loss"), {}),
        (final("nowhere", "elu", "loss"), {}),
        (at("fig", "elu", "loss", {"epoch": "1"}), {0: 10, 1: 11}),
        (at("fig", "elu", "loss", {"epoch": "1", "seed": "1"}), {1: 11}),
        (at("fig", "elu", "loss", {"epoch": "3"}), {}),
        (at("fig", "elu", "epoch"), {0: 2, 1: 2}),
    ],
)
def test_reading(read, expected):
    assert read(ROWS) == expected
    assert read({}) == {}


def test_nothing_was_found():
    found = judging.Finding()
    assert (found.n, found.verdict) == (0, "not decided")
