"""Rows of CSV files as arrays: arms, last values, pairs, curves, tables."""

import math

import numpy as np
import pytest

from elu_zoo.paper import grouping
from elu_zoo.paper.plots import panels

ELU, RELU = ("elu", False, ""), ("relu", False, "")


def row(activation="elu", seed=0, batch_norm=False, variant="", **cells):
    key = {"activation": activation, "batch_norm": str(batch_norm), "variant": variant}
    return key | {"seed": str(seed)} | cells


def run(losses, activation="elu", seed=0, **cells):
    return [
        row(activation, seed, epoch=str(i), loss=loss, **cells)
        for i, loss in enumerate(losses)
    ]


def test_numbers():
    assert grouping.number("1e-05") == 1e-5
    assert math.isnan(grouping.number(""))


def test_arms_stand_in_the_papers_order():
    """Then comes the alphabet; variants after it, batch norm last."""
    plain = "elu relu leaky_relu shifted_relu prelu rrelu cube tanh".split()
    expected = [(name, False, "") for name in plain]
    expected += [("relu", False, "lr 1"), ("elu", False, "lr 2"), ("elu", True, "")]
    rows = [row(a, 0, bn, variant) for a, bn, variant in reversed(expected)]
    assert grouping.arms(rows * 2) == expected
    assert grouping.arms([]) == []


def test_runs_of_an_arm_by_seed():
    other = [row("relu"), row(batch_norm=True), row(variant="lr 1")]
    late, early = run(["1", "2"], seed=10), run(["3"], seed=2)
    found = grouping.of_arm([*late[:1], *other, *early, *late[1:]], ELU)
    assert found == {2: early, 10: late} and list(found) == [2, 10]
    assert grouping.of_arm(other, ("elu", True, "")) == {0: other[1:2]}
    assert grouping.of_arm(other, ("elu", False, "lr 1")) == {0: other[2:]}


def test_last_values():
    rows = run(["3", "1", "2"]) + run(["4", "5", ""], seed=1) + run(["", ""], seed=2)
    rows += run(["9"], "relu")
    assert grouping.finals(rows, ELU, "loss") == {0: 2.0, 1: 5.0}
    assert grouping.finals(rows, ("tanh", False, ""), "loss") == {}


def test_runs_that_diverged_have_no_last_value():
    ended = row(seed=1, epoch="", loss="", diverged="the loss is nan")
    rows = run(["1"], diverged="") + [ended] + run(["7"], seed=1, diverged="")
    assert grouping.diverged([ended]) and not grouping.diverged(run(["1"], diverged=""))
    assert not grouping.diverged(run(["1"]))
    assert grouping.finals(rows, ELU, "loss") == {0: 1.0}


def test_pairs_are_of_seeds_that_both_have():
    ours, theirs = {3: 0.3, 1: 0.1, 2: 0.2}, {2: 2.0, 4: 4.0, 3: 3.0}
    assert grouping.pairs(ours, theirs) == ([0.2, 0.3], [2.0, 3.0])
    assert grouping.pairs(ours, {}) == ([], [])


def test_curves():
    rows = run(["3", "2", "1"]) + run(["6", "", "4"], seed=1) + run(["9"], "relu")
    elu, relu = grouping.series(rows, "epoch", "loss", summary="median", dotted=True)
    assert (elu.activation, elu.summary, elu.dotted) == ("elu", "median", True)
    assert elu.x == [0, 1, 2]
    np.testing.assert_array_equal(elu.runs, [[3, 2, 1], [6, math.nan, 4]])
    assert (relu.x, relu.runs) == ([0], [[9]])
    np.testing.assert_array_equal(panels.curve(elu).middle, [4.5, 2, 2.5])


def test_curves_rise_whatever_the_order_of_rows():
    rows = run(["2"] * 11)
    (found,) = grouping.series(rows[::-1], "epoch", "loss")
    assert found.x == list(range(11))


def test_curves_of_chosen_arms():
    rows = run(["1"], "relu") + run(["2"]) + [row(batch_norm=True, epoch="0", loss="3")]
    which = [("elu", True, ""), RELU, ("tanh", False, "")]
    found = grouping.series(rows, "epoch", "loss", which)
    assert [(s.activation, s.batch_norm) for s in found] == [
        ("elu", True),
        ("relu", False),
    ]


def test_runs_without_a_point_are_no_curves():
    ended = row(seed=1, epoch="", loss="", diverged="nan")
    rows = [*run(["1", "2"]), ended, row("relu", epoch="0", loss="")]
    (found,) = grouping.series(rows, "epoch", "loss")
    assert (found.activation, found.runs) == ("elu", [[1, 2]])


def test_a_point_that_is_nan_is_not_measured():
    (found,) = grouping.series(run(["1", "nan"]) + run(["3", "4"], seed=1), *X_LOSS)
    np.testing.assert_array_equal(panels.curve(found).middle, [2, 4])
    (found,) = grouping.series(run(["nan"]) + run(["3"], seed=1), *X_LOSS)
    assert found.runs == [[3]]


def test_an_arm_that_is_nan_everywhere_is_left_out():
    assert grouping.series(run(["nan", "nan"]), *X_LOSS) == []


X_LOSS = "epoch", "loss"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        ([1.23456], "1.23"),
        ([1.0, 3.0], "2 ± 1.4"),
        ([28.5, 28.75, 29.0], "28.8 ± 0.25"),
        ([0.00012345] * 2, "0.000123 ± 0"),
    ],
)
def test_spread(values, text):
    assert grouping.spread(values) == text


def test_markdown():
    found = grouping.markdown(["unit", "n"], [["elu", 5], ["relu", ""]])
    assert found.splitlines() == [
        "| unit | n |",
        "|---|---|",
        "| elu | 5 |",
        "| relu |  |",
    ]
