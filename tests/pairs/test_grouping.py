"""Rows of CSV files become frames, whose runs are grouped by arm and seed."""

import numpy as np

from elu_zoo.pairs import grouping
from elu_zoo.pairs.grouping import Arm

NAN = float("nan")
ELU = Arm("elu")


def row(activation="elu", seed=0, batch_norm=False, variant="", **cells):
    key = {"activation": activation, "batch_norm": str(batch_norm), "variant": variant}
    return key | {"seed": str(seed), "diverged": ""} | cells


def run(losses, activation="elu", seed=0, **cells):
    return [
        row(activation, seed, epoch=str(i), loss=loss, **cells) for i, loss in enumerate(losses)
    ]


DIVERGED = row(seed=1, epoch="", loss="", diverged="the loss is nan")


def test_cells_of_numbers_are_numbers_and_empty_cells_are_nan():
    rows = [row(variant="01", arm="1e9", loss="", layer="a"), row(loss="2.5", layer="")]
    found = grouping.frame(rows)
    assert found["loss"].isna().tolist() == [True, False] and found["loss"][1] == 2.5
    assert (found["variant"][0], found["arm"][0]) == ("01", "1e9")
    assert found["seed"].tolist() == [0, 0] and found["batch_norm"].dtype == bool
    assert found["layer"].isna().tolist() == [False, True]
    assert grouping.frame([{"x": "1"}])["x"].tolist() == [1]


def test_activations_of_the_paper_come_first():
    names = "elu relu leaky_relu shifted_relu prelu rrelu cube tanh".split()
    assert [*grouping.frame(map(row, reversed(names)))["activation"].cat.categories] == names


def test_final_values_are_the_last_of_runs_that_did_not_diverge():
    rows = run(["3", "1", "2"]) + run(["4", "5", ""], seed=2) + run(["", ""], seed=3)
    rows += run(["9"], "relu") + run(["8"], batch_norm=True) + run(["7"], variant="x") + [DIVERGED]
    frame = grouping.frame(rows)
    assert grouping.final_values(frame, ELU, "loss") == {0: 2.0, 2: 5.0}
    assert grouping.final_values(frame, Arm("tanh"), "loss") == {}


def test_pairs_have_the_common_seeds_with_finite_values():
    first, second = {3: 0.3, 1: 0.1, 2: 0.2, 5: NAN}, {2: 2.0, 4: 4, 3: 3.0, 5: 1}
    assert grouping.pairs(first, second) == ([0.2, 0.3], [2.0, 3.0])
    assert grouping.pairs(first, {}) == ([], [])


def test_dots_are_means_and_standard_deviations():
    rows = [*run(["1"], variant="2"), *run(["3"], seed=1, variant="2"), *run(["5"], variant="4")]
    found = grouping.spread(grouping.ends(grouping.frame(rows), ["loss"])["loss"], "variant")
    assert found["variant"].tolist() == ["2", "4"] and found["middle"].tolist() == [2, 5]
    np.testing.assert_allclose(found["low"], [2 - 2**0.5, NAN])
    np.testing.assert_allclose(found["high"], [2 + 2**0.5, NAN])
