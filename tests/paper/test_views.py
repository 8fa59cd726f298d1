"""A view has the rows of one budget with enough seeds, without diverged runs."""

import pytest
from synthetic_rows import rows_of, write

from elu_zoo import results
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper import views
from elu_zoo.paper.experiments import EXPERIMENTS


def plan(budget, seeds, output):
    return Plan(budget, seeds, output / "runs")


def put(name, output, seeds):
    """Writes rows of an experiment; `seeds` has the number of seeds by budget."""
    rows = [row for budget, n in seeds.items()
            for row in rows_of(name, plan(budget, n, output))]  # fmt: skip
    if rows:
        results.write(output / "figures" / f"{name}.csv", list(rows[0]), rows)


def seen(name, output):
    """Returns a view's budget and numbers of seeds, without and with batch norm."""
    found = views.view(name, output)
    assert {row["budget"] for row in found.rows} == {found.budget}
    arms = ("False", "True")
    return found.budget, [
        len({row["seed"] for row in found.rows if row["batch_norm"] == arm}) for arm in arms
    ]


def test_without_rows_there_is_no_view(tmp_path):
    assert [name for name in EXPERIMENTS if views.view(name, tmp_path)] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("seeds", "budget"),
    [
        ({"smoke": 1, "short": 1, "full": 1}, "full"),
        ({"short": 5, "full": 4}, "short"),
        ({"short": 7, "full": 5}, "full"),
        ({"short": 3, "full": 4}, "full"),
        ({"smoke": 5, "short": 2}, "short"),
    ],
)
def test_the_longest_budget_with_five_seeds_is_shown(tmp_path, seeds, budget):
    put("fig7", tmp_path, seeds)
    assert seen("fig7", tmp_path) == (budget, [seeds[budget], 0])


def test_seeds_without_a_pair_do_not_count(tmp_path):
    put("fig7", tmp_path, {"short": 5, "full": 5})
    stored = views.points("fig7", tmp_path)
    unpaired = {"budget": "full", "activation": "relu", "seed": "4"}
    kept = [r for r in stored.rows if unpaired != {k: r[k] for k in unpaired}]
    results.write(tmp_path / "figures" / "fig7.csv", list(kept[0]), kept)
    assert seen("fig7", tmp_path) == ("short", [5, 0])


@pytest.mark.parametrize(
    ("seeds", "longer"),
    [
        ({"smoke": 5}, None),
        ({"short": 5, "full": 2}, "full"),
        ({"smoke": 7, "short": 4}, None),
    ],
)
def test_own_runs_of_a_longer_budget_with_few_seeds_are_longer(tmp_path, seeds, longer):
    put("fig4", tmp_path, seeds)
    found = views.view("fig4", tmp_path).longer
    assert (found and found.budget) == longer
    if found:
        assert found.rows == views.points("fig4", tmp_path).of_budget(longer) != []


def test_what_reads_others_or_trains_nothing_or_diverged_is_not_longer(tmp_path):
    for name in "fig4", "fig5":
        put(name, tmp_path, {"short": 5, "full": 1})
    stored = views.points("table1", tmp_path)
    stored.put_all("short", [{}])
    stored.put_all("full", [{}])
    assert views.view("fig4", tmp_path).longer
    for name in "fig5", "table1":
        assert views.view(name, tmp_path).longer is None
    stored = views.points("fig4", tmp_path)
    runs = [row for row in stored.rows if row["budget"] == "full"]
    for row in runs:
        if row["activation"] == "relu":
            row["diverged"] = "NaN"
    stored.put_all("full", runs)
    longer = views.view("fig4", tmp_path).longer
    assert "relu" not in {row["activation"] for row in longer.rows}
    assert [*map(str, longer.diverged)] == ["fig4: relu, seed 0"]


@pytest.mark.parametrize(
    ("fig4", "fig5", "budget"),
    [
        ({"short": 5, "full": 5}, {"short": 5, "full": 2}, "short"),
        ({"short": 2, "full": 5}, {"short": 2, "full": 5}, "full"),
    ],
)
def test_needed_experiments_have_the_same_budget(tmp_path, fig4, fig5, budget):
    put("fig4", tmp_path, fig4)
    put("fig5", tmp_path, fig5)
    assert seen("fig5", tmp_path) == (budget, [5, 5])


def test_only_the_first_needed_experiment_needs_rows(tmp_path):
    put("fig4", tmp_path, {"short": 5, "full": 5})
    assert views.view("fig5", tmp_path) is None
    put("fig5", tmp_path, {"short": 5})
    assert seen("fig5", tmp_path) == ("short", [5, 5])


@pytest.mark.parametrize("name", [n for n, e in EXPERIMENTS.items() if e.trials])
def test_diverged_runs_are_listed_and_left_out_unless_shown(tmp_path, name):
    short = plan("short", 2, tmp_path)
    write(name, tmp_path, short, diverged={("relu", 1)})
    found = views.view(name, tmp_path)
    shows = EXPERIMENTS[name].shows_divergence
    shown = [r for r in found.rows if r["batch_norm"] == str(name == "fig5")]
    runs = {(row["activation"], row["seed"]) for row in shown}
    assert (("relu", "1") in runs) == shows and ("relu", "0") in runs
    assert bool(found.diverged) != shows
    assert all(f"{name}: relu" in str(each) for each in found.diverged)
    assert len(set(found.diverged)) == len(found.diverged)
