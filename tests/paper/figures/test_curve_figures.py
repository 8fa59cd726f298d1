"""Figures 2, 3 and 4 show the expected crossings, notes and panels."""

from pathlib import Path

import numpy as np
import pytest
from synthetic_rows import rows_of

from elu_zoo.pairs import grouping
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper.claims import ClaimTest
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.figures import fig2_mnist_curves, fig3_autoencoders


@pytest.mark.parametrize(
    ("loss", "epoch"),
    [
        (2.0, 1),  # the first epoch has a lower loss
        (1.0, 1),
        (0.1, 2),  # halfway between the logarithms of 1 and 0.01
        (0.01, 3),
        (0.001, 5.5),
        (1e-5, 8),  # never reached: the last epoch
    ],
)
def test_crossings_are_interpolated_on_a_logarithmic_axis(loss, epoch):
    curve = [(1.0, 1.0), (3.0, 0.01), (8.0, 1e-4)]
    assert fig2_mnist_curves._crossing(curve, loss) == pytest.approx(epoch)


def test_a_statement_about_a_whole_training_is_decided_by_its_worst_epoch():
    # ELU - ReLU; the last epoch has no pair, and decides nothing.
    differences = {1: [-9, -2, -9, -2, -9], 2: [-1.0, -1.1, -1.2, -1.1, -1.0], 3: [np.nan] * 5}
    usual = {"batch_norm": "False", "variant": "", "diverged": ""}
    rows = [
        {**usual, "activation": name, "epoch": epoch, "seed": seed, "median_activation": value}
        for epoch, values in differences.items()
        for seed, difference in enumerate(values)
        for name, value in (("elu", 20 + difference), ("relu", 20))
    ]
    test = ClaimTest("", "", fig2_mnist_curves._worst_epoch("elu", "relu"))
    effect = test.measured(grouping.frame(rows))
    assert (effect.n, effect.effect) == (5, pytest.approx(-6.2)) and effect.high > -2
    opposite = ClaimTest("", "", fig2_mnist_curves._worst_epoch("relu", "elu"))
    worst = opposite.measured(grouping.frame(rows))
    alone = opposite.measured(grouping.frame([r for r in rows if r["epoch"] != 1]))
    assert worst.effect == alone.effect == pytest.approx(1.08)
    assert worst.p == pytest.approx(alone.p * 3 / 2)


@pytest.mark.parametrize(
    ("diverged", "lengths"), [(("relu",), [4, 4, 2, 2]), (fig3_autoencoders._NAMES, [3, 3, 2, 2])]
)
def test_figure_3_has_no_panel_of_a_rate_at_which_all_runs_diverge(drawn, diverged, lengths):
    rows = rows_of("fig3", Plan("short", 2, Path("runs")))
    for row in rows:
        if row["variant"] == "lr 0.01" and row["activation"] in diverged:
            row |= {"diverged": "nan", "test_squared_error": ""}
            row["measured_squared_error"] = ""
    EXPERIMENTS["fig3"].draw(grouping.frame(rows), Path("fig3"))
    grid = drawn["fig3"]
    assert [len(row) for row in grid] == lengths
    note = f"Runs that diverged: {2 * len(diverged)} of 8 with lr 0.01."
    assert grid[0][0].figure.get_suptitle() == note


@pytest.mark.parametrize(
    ("budget", "titles"),
    [
        ("short", [["a  training loss", "b  test error"]]),
        ("full", [["a  training loss", "b  training loss (start)", "c  training loss (end)"],
                  ["d  test error", "e  test error (start)", "f  test error (end)"]]),
    ]
)  # fmt: skip
def test_figure_4_shows_parts_of_whole_runs(drawn, budget, titles):
    rows = rows_of("fig4", Plan(budget, 2, Path("runs")))
    EXPERIMENTS["fig4"].draw(grouping.frame(rows), Path("fig4"))
    grid = drawn["fig4"]
    assert [[axes.get_title() for axes in row] for row in grid] == titles
