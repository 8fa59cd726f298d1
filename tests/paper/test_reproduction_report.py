"""The report: a section for each experiment, the claims' table, what is not run yet."""

import dataclasses
import math
import re
from pathlib import Path

import pytest
from synthetic_points import OPEN, at_chance, view

from elu_zoo.paper import claims, report
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.judging import Finding
from elu_zoo.paper.run.spec import Plan
from elu_zoo.paper.views import View

NAMES = [claim.name for claim in claims.CLAIMS]


def plan(budget="short"):
    return Plan(budget, None, 2, Path("runs"), imagenet="pictures")


def sections(text):
    """The report's parts by their titles."""
    found = re.split(r"^## (.*)\n", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2], strict=True))


@pytest.fixture(scope="module")
def nothing():
    return sections(report.text({}, claims.judged({})))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_that_was_not_run(nothing, name):
    experiment = EXPERIMENTS[name]
    section = nothing[experiment.title]
    assert f"Not run yet: `elu-zoo-reproduce {name}`." in section
    assert experiment.note.strip() in section
    assert "figures/" not in section and "| " not in section


def test_sections_stand_in_the_papers_order(nothing):
    titles = [experiment.title for experiment in EXPERIMENTS.values()]
    assert list(nothing) == [
        "The claims, counted",
        *titles,
        "The claims, one by one",
    ]
    assert len(set(titles)) == len(titles)


def test_the_claims_counted():
    """Of the paper's; each row leads to the experiment's section."""
    kinds = [
        ("fig2", "holds", "the paper's"),
        ("fig2", "holds", "the paper's"),
        ("fig2", "not decided", "the paper's"),
        ("fig2", "does not hold", "ours"),
        ("rivals", "does not hold", "ours"),
        ("theory", "does not hold", "the paper's"),
    ]
    keys = "experiment", "verdict", "whose"
    rows = [dict(zip(keys, kind, strict=True)) for kind in kinds]
    assert report.tally(rows, "a/b.md").splitlines() == [
        "| by unit and measure | holds | does not hold | not decided |",
        "|---|---|---|---|",
        "| [Figure 2: activations and losses of an MNIST network](a/b.md#figure-2-"
        "activations-and-losses-of-an-mnist-network) | 2 |  | 1 |",
        "| [Theory: the bias shift along training](a/b.md#theory-the-bias-shift-along-"
        "training) |  | 1 |  |",
        "| all 4 | 2 | 1 | 1 |",
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fig2", "The paper, section 4.1.1."),
        ("depth", "The paper, abstract."),
        ("fig7", "The paper, appendix C."),
    ],
)
def test_where_the_paper_has_it(nothing, name, words):
    assert words in nothing[EXPERIMENTS[name].title]


@pytest.fixture(scope="module")
def some():
    """A report with points of two experiments, as text and by sections; its views."""
    views = {"fig4": view("fig4", plan()), "depth": view("depth", plan("full"))}
    text = report.text(views, claims.judged(views))
    return text, sections(text), views


def test_units_are_compared_in_pairs(some):
    for name in "fig4", "depth":
        section = some[1][EXPERIMENTS[name].title]
        pairs = section.partition("Pairs of runs:")[2]
        assert re.search(
            r"\| ELU - ReLU \| \d \| -\d.* \| p = 0\.\d+ \(n = \d\)", pairs
        )


@pytest.mark.parametrize("name", ["fig4", "fig5"])
def test_runs_at_chance_are_in_no_pair(name):
    def pairs(seeds):
        seen = view(name, Plan("full", None, 5, Path("runs")))
        at_chance(seen.rows[name], "relu", range(seeds))
        text = report.text({name: seen}, claims.judged({name: seen}))
        section = sections(text)[EXPERIMENTS[name].title]
        return re.findall(r"\| (ELU.* - ReLU.*?) \| (\d+) \|", section)

    whole, one = pairs(0), pairs(1)
    assert whole and [n for _, n in whole] == ["5"] * len(whole)
    assert one == [(of, "4") for of, _ in whole]
    assert pairs(5) == []


@pytest.mark.parametrize(
    ("name", "budget"), [("fig4", "short, 3 or 7 epochs"), ("depth", "full, 40 epochs")]
)
def test_an_experiment_that_was_run(some, name, budget):
    _, found, views = some
    section = found[EXPERIMENTS[name].title]
    assert f"Budget: {budget}; `elu-zoo-reproduce {name}" in section
    assert f"![{EXPERIMENTS[name].title}](figures/{name}.png)" in section
    assert EXPERIMENTS[name].summary(views[name].rows) in section
    assert "Not run yet" not in section and "diverged" not in section


def test_the_command_is_that_of_the_budget(some):
    """Who copies it gets what is shown."""
    section = some[1][EXPERIMENTS["depth"].title]
    assert "`elu-zoo-reproduce depth --budget=full`" in section


def test_runs_that_are_left_out():
    seen = dataclasses.replace(view("fig4", plan()), diverged=("fig4: relu, 3", "b"))
    found = sections(report.text({"fig4": seen}, claims.judged({"fig4": seen})))
    section = found[EXPERIMENTS["fig4"].title]
    assert "Left out, as they diverged: fig4: relu, 3; b." in section


def test_an_experiment_of_two_others():
    seen = {"wilcoxon": view("wilcoxon", plan())}
    found = sections(report.text(seen, claims.judged(seen)))
    section = found[EXPERIMENTS["wilcoxon"].title]
    assert "Budget: short, 3 or 7 epochs; " in section
    assert "figures/wilcoxon.png" in section and "ELU - ReLU + BN" in section


def test_an_experiment_without_a_figure_and_without_runs():
    seen = {"table1": View("short", {"table1": []})}
    text = report.text(seen, claims.judged(seen))
    section = sections(text)[EXPERIMENTS["table1"].title]
    assert "Budget: short; " in section and "figures/" not in section


def test_the_text_is_markdown(some):
    text, _, _ = some
    assert text.startswith("# ") and text.endswith("\n") and not text.endswith("\n\n")
    # Each block stands alone: a table, a figure, a heading.
    for block in text.split("\n\n"):
        lines = block.splitlines()
        kinds = {line.startswith("|") for line in lines if line}
        assert len(kinds) <= 1, block
        if lines and lines[0].startswith("|"):
            assert set(lines[1]) == {"|", "-"}
            assert {line.count(" | ") for line in lines[2:]} <= {lines[0].count(" | ")}


def test_the_claims():
    """The numbers stay away where there are none."""
    found = dict.fromkeys(NAMES, Finding(measure="the loss"))
    verdicts = {
        NAMES[1]: Finding(5, -0.1234, -1, 0.5, 1 / 32, "holds", "the error"),
        NAMES[2]: Finding(1, 0.1, math.nan, math.nan, 1, "not decided", "the error"),
        NAMES[3]: Finding(8, 2, 1, 3, math.nan, "does not hold", "the time"),
        NAMES[4]: Finding(10, 2, 1, 3, 1 / 1024, "holds", "the time"),
    }
    (experiment,) = {claim.experiment for claim in claims.CLAIMS[:5]}
    seen = {experiment: view(experiment, plan())}
    text = report.text(seen, found | verdicts)
    head, rule, *lines = sections(text)["The claims, one by one"].strip().splitlines()
    assert len(lines) == len(NAMES)
    assert head == (
        "| section | claim | measured | n | effect | p | budget | verdict |"
    )
    expected = [
        "the loss |  |  |  |  | **not decided** |",
        "the error | 5 | -0.123 (-1 to +0.5) | 0.031 | short | **holds** |",
        "the error | 1 | +0.1 | 1.000 | short | **not decided** |",
        "the time | 8 | +2 (+1 to +3) |  | short | **does not hold** |",
        "the time | 10 | +2 (+1 to +3) | < 0.001 | short | **holds** |",
    ]
    for line, claim, end in zip(lines, claims.CLAIMS, expected, strict=False):
        assert line == f"| {claim.section} | {claim.text} | {end}"
    papers = sum(not claim.ours for claim in claims.CLAIMS)
    counted = sections(text)["The claims, counted"].strip().splitlines()[-1]
    assert counted == f"| all {papers} | 2 | 1 | {papers - 3} |"


def test_a_claims_budget_is_its_experiments(some):
    lines = some[1]["The claims, one by one"].strip().splitlines()[2:]
    for line, claim in zip(lines, claims.CLAIMS, strict=True):
        budget = {"fig4": "short", "depth": "full"}.get(claim.experiment, "")
        budget = "" if claim.name in OPEN else budget
        assert line.split(" | ")[-2] == budget
