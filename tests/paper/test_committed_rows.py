"""The committed rows have all runs of every experiment, so that no run is repeated."""

from pathlib import Path

import pytest

from elu_zoo.pairs.spec import Plan
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.views import points

RESULTS = Path(__file__).parents[2] / "configs" / "results"
# Numbers of trained seeds of experiments whose `trials` has 20 seeds.
SEEDS = {"fig2": 5, "depth": 5}
# A figure may also have runs of a longer budget, with fewer seeds.
BEGUN = {"fig3": {"full"}, "fig4": {"full"}}
BUDGETS = {
    "fig2": "full",
    "fig3": "short",
    "fig4": "short",
    "fig7": "full",
    "depth": "full",
    "theory": "full",
    "gradients": "full",
}


@pytest.mark.parametrize("name", BUDGETS)
def test_every_run_of_an_experiment_is_committed(name):
    stored = points(name, RESULTS)
    plan = Plan(BUDGETS[name], SEEDS.get(name), Path("runs"))
    assert [t.label for t in EXPERIMENTS[name].trials(plan) if not stored.has(t)] == []
    budgets = {BUDGETS[name], *BEGUN.get(name, ())}
    assert {row["budget"] for row in stored.rows} == budgets


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_committed_files_have_the_columns_of_this_version(name):
    points(name, RESULTS).check()


def test_budgets_has_all_experiments_with_committed_rows():
    trained = {n for n in EXPERIMENTS if EXPERIMENTS[n].trials}
    assert {n for n in trained if points(n, RESULTS).rows} == BUDGETS.keys()
