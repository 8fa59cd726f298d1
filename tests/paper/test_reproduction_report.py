"""The report has a section for each experiment, and tables of claims and tests."""

import re
from pathlib import Path

import pytest
from synthetic_rows import view

from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper import claim_tables, report
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.views import Run, View
from elu_zoo.paper.views import view as committed_view

RESULTS = Path(__file__).parents[2] / "configs" / "results"
CLAIMS = "The paper's claims"


def plan(budget="short", seeds=2):
    return Plan(budget, seeds, Path("runs"), imagenet="pictures")


def sections(views):
    """Returns the report's sections by title."""
    text = report.text(views, claim_tables.judge(views))
    found = re.split(r"^## (.*)\n", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2], strict=True))


def section(name, views):
    return sections(views)[EXPERIMENTS[name].title]


def test_experiments_that_were_not_run_have_a_section():
    found = sections({})
    titles = [experiment.title for experiment in EXPERIMENTS.values()]
    assert list(found) == [CLAIMS, *titles]
    for name, experiment in EXPERIMENTS.items():
        text = found[experiment.title]
        assert f"Not run yet, or all runs diverged: `elu-zoo-reproduce {name}`." in text
        assert re.match(r"\nThe paper, (section \d|[a-z])", text)
        assert experiment.note.strip() in text
        assert "figures/" not in text and "| " not in text


def test_the_table_of_claims_has_a_line_for_each_claim():
    seen = view("fig2", plan("full", 5))
    text = sections({"fig2": seen})[CLAIMS]
    table = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    titles, *lines = table
    assert len(lines) == sum(len(each.claims) for each in EXPERIMENTS.values())
    (first,) = [line for line in lines if "decreases much more rapidly" in line[1]]
    assert re.fullmatch(r"training loss in epoch 5, .*: -.* \(-.* to -.*\)", first[3])
    assert first[4] == "smaller than 0"
    assert first[5:] == ["300 of 300 epochs", "5", "supports: 8", "**reproduced** |"]
    assert lines[-1][-1] == "**not tested** |" and lines[-1][3] == ""


def test_a_report_of_smoke_runs_has_only_what_was_run():
    found = sections({"fig2": view("fig2", plan("smoke"))})
    assert list(found) == [CLAIMS, EXPERIMENTS["fig2"].title]
    lines = [line for line in found[CLAIMS].splitlines() if line.startswith("| ")]
    assert len(lines) == 1 + len(EXPERIMENTS["fig2"].claims)
    assert all(line.endswith("**not tested** |") for line in lines[1:])


def test_the_first_sentence_says_on_which_data_verdicts_rest():
    seen = {name: view(name, plan("full", 5)) for name in ("fig2", "fig7")}
    judged = claim_tables.judge(seen)
    decided = sum(each.verdict != "not tested" for each in judged)
    first = report.text(seen, judged).splitlines()[2]
    rest = f"{len(judged) - decided} of {len(judged)} claims are undecided or not tested."
    assert decided and first == f"Verdicts by data: {decided} by MNIST; {rest}"


@pytest.mark.parametrize(
    ("name", "budget", "epochs"),
    [("fig4", "short", "10 of 330 epochs"), ("depth", "full", "40 of figure 2's 300 epochs")],
)
def test_an_experiment_that_was_run_has_its_section(name, budget, epochs):
    seen = view(name, plan(budget))
    text = section(name, {name: seen})
    seeds = len({row["seed"] for row in seen.rows})
    command = f"`elu-zoo-reproduce {name} --budget={budget} --seeds={seeds}`"
    assert f"{epochs}. Command: {command}" in text
    assert f"![{EXPERIMENTS[name].title}](figures/{name}.png)" in text
    assert EXPERIMENTS[name].summary(seen.frame) in text
    assert "Not run yet" not in text and "diverged" not in text


@pytest.mark.parametrize(
    ("name", "seen", "words"),
    [
        ("table1", committed_view("table1", RESULTS), "No training"),
        ("fig6", view("fig6", plan()), "1 of our config's 80 epochs"),
    ],
)
def test_an_experiment_states_what_it_trains(name, seen, words):
    text = section(name, {name: seen})
    assert f"\n{words}. Command" in text
    assert ("figures/" in text) == (EXPERIMENTS[name].draw is not None)


def test_runs_of_a_longer_budget_have_their_own_part():
    full = view("fig4", plan("full", 1))
    full = View("full", full.rows, (Run("fig4", Arm("relu"), "3"),))
    text = section("fig4", {"fig4": View("short", view("fig4", plan()).rows, (), full)})
    part = text.partition("### --budget=full")[2]
    assert "330 of 330 epochs, too few seeds. " in part
    assert "Command: `elu-zoo-reproduce fig4 --budget=full --seeds=1`.\n" in part
    assert "Left out because they diverged: fig4: relu, seed 3." in part
    assert "(figures/fig4_full.png)" in part
    assert EXPERIMENTS["fig4"].summary(full.frame) in part
    assert "| elu | 1 |" in part


def test_tables_and_paragraphs_are_separate_blocks():
    views = {"fig4": view("fig4", plan()), "depth": view("depth", plan("full"))}
    text = report.text(views, claim_tables.judge(views))
    assert text.startswith("# ") and text.endswith("\n") and not text.endswith("\n\n")
    for block in text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        assert len({line.startswith("|") for line in lines}) == 1, block
