"""Rows are grouped by arm and seed, and converted to pairs, curves and dots."""

import math

import numpy as np
import pytest

from elu_zoo.pairs import grouping
from elu_zoo.pairs.grouping import Arm

ELU, RELU = Arm("elu"), Arm("relu")
X_LOSS = "epoch", "loss"


def row(activation="elu", seed=0, batch_norm=False, variant="", **cells):
    key = {"activation": activation, "batch_norm": str(batch_norm), "variant": variant}
    return key | {"seed": str(seed)} | cells


def run(losses, activation="elu", seed=0, **cells):
    return [
        row(activation, seed, epoch=str(i), loss=loss, **cells) for i, loss in enumerate(losses)
    ]


DIVERGED = row(seed=1, epoch="", loss="", diverged="the loss is nan")


def test_arms_of_the_paper_come_first():
    names = "elu relu leaky_relu shifted_relu prelu rrelu cube tanh".split()
    expected = [
        *map(Arm, names),
        Arm("relu", variant="lr 1"),
        Arm("elu", variant="lr 2"),
        Arm("elu", batch_norm=True),
    ]
    rows = [row(arm[0], 0, *arm[1:]) for arm in reversed(expected)]
    assert grouping.arms(rows * 2) == expected
    assert grouping.arms([]) == []


@pytest.mark.parametrize(
    ("names", "expected"), [(("relu", "elu"), "elu"), (("leaky_relu", "relu"), "relu")]
)
def test_the_reference_is_elu_or_the_first_activation(names, expected):
    assert grouping.reference([row(name) for name in names]) == expected


def test_runs_of_an_arm_are_grouped_by_seed():
    other = [row("relu"), row(batch_norm=True), row(variant="lr 1")]
    late, early = run(["1", "2"], seed=10), run(["3"], seed=2)
    found = grouping.by_seed([*late[:1], *other, *early, *late[1:]], ELU)
    assert found == {2: early, 10: late} and list(found) == [2, 10]
    assert grouping.by_seed(other, Arm("elu", True)) == {0: other[1:2]}
    assert grouping.by_seed(other, Arm("elu", variant="lr 1")) == {0: other[2:]}


def test_final_values_are_the_last_of_runs_that_did_not_diverge():
    rows = run(["3", "1", "2"]) + run(["4", "5", ""], seed=2) + run(["", ""], seed=3)
    rows += run(["9"], "relu") + run(["7"], seed=1, diverged="") + [DIVERGED]
    assert grouping.final_values(rows, ELU, "loss") == {0: 2.0, 2: 5.0}
    assert grouping.final_values(rows, Arm("tanh"), "loss") == {}


def test_pairs_have_the_common_seeds_with_finite_values():
    first, second = {3: 0.3, 1: 0.1, 2: 0.2, 5: math.nan}, {2: 2.0, 4: 4, 3: 3.0, 5: 1}
    assert grouping.pairs(first, second) == ([0.2, 0.3], [2.0, 3.0])
    assert grouping.pairs(first, {}) == ([], [])


def test_curves_have_a_run_for_each_seed():
    rows = run(["3", "2", "1"])[::-1] + run(["6", "", "4"], seed=1) + run(["9"], "relu")
    elu, relu = grouping.series(rows, *X_LOSS, summary="median", dotted=True)
    assert (elu.activation, elu.summary, elu.dotted) == ("elu", "median", True)
    assert elu.x == [0, 1, 2]
    np.testing.assert_array_equal(elu.runs, [[3, 2, 1], [6, math.nan, 4]])
    assert (relu.x, relu.runs) == ([0], [[9]])


def test_points_of_a_curve_are_sorted_as_numbers():
    (found,) = grouping.series(run(["2"] * 11)[::-1], *X_LOSS)
    assert found.x == list(range(11))


def test_curves_of_chosen_arms_are_in_the_given_order():
    rows = run(["1"], "relu") + run(["2"]) + [row(batch_norm=True, epoch="0", loss="3")]
    which = [Arm("elu", True), RELU, Arm("tanh")]
    found = grouping.series(rows, *X_LOSS, which)
    expected = [("elu", True), ("relu", False)]
    assert [(s.activation, s.batch_norm) for s in found] == expected


def test_runs_without_a_number_have_no_curve():
    rows = [*run(["1", "2"]), DIVERGED, *run(["nan", "nan"], seed=2)]
    rows += [row("relu", epoch="0", loss=""), *run(["nan"], "tanh")]
    (found,) = grouping.series(rows, *X_LOSS)
    assert (found.activation, found.runs) == ("elu", [[1, 2]])


def test_dots_are_means_and_standard_deviations():
    found = grouping.dots("elu", {2: [1.0, 3.0], 4: [5.0]})
    assert (found.activation, found.x, found.middle) == ("elu", [2, 4], [2.0, 5.0])
    np.testing.assert_allclose(found.low, [2 - 2**0.5, math.nan])
    np.testing.assert_allclose(found.high, [2 + 2**0.5, math.nan])
