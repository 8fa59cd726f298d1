"""The committed rows have all runs of every experiment, so that none is repeated."""

from pathlib import Path

import pytest

from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.run.spec import Plan
from elu_zoo.paper.views import points

RESULTS = Path(__file__).parents[2] / "configs" / "results"
# Seeds that are not trained yet: `trials` has 20 of figure 2 and of depth.
SEEDS = {"fig2": 5, "depth": 5}
COMMITTED = {
    "fig2": "full",
    "fig3": "short",
    "fig4": "short",
    "fig5": "short",
    "rivals": "short",
    "fig7": "full",
    "depth": "full",
    "noise": "full",
    "theory": "full",
}


@pytest.mark.parametrize("name", COMMITTED)
def test_every_run_of_an_experiment_is_found(name):
    found = points(name, RESULTS)
    plan = Plan(COMMITTED[name], SEEDS.get(name), Path("runs"))
    missing = [t.label for t in EXPERIMENTS[name].trials(plan) if not found.has(t)]
    # The loss as a mean over pixels is not trained yet.
    assert [label for label in missing if " mean, " not in label] == []
    assert {row["budget"] for row in found.rows} == {COMMITTED[name]}


@pytest.mark.parametrize("name", [n for n, e in EXPERIMENTS.items() if e.columns])
def test_committed_files_have_the_columns_of_this_version(name):
    points(name, RESULTS).check()


def test_the_table_has_all_experiments_with_committed_rows():
    trained = {n for n in EXPERIMENTS if EXPERIMENTS[n].trials}
    assert {n for n in trained if points(n, RESULTS).rows} == COMMITTED.keys()
