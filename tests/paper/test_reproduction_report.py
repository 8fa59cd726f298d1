"""The report: a section for each experiment, and the table of claims."""

import math
import re
from pathlib import Path

import pytest
from synthetic_rows import set_errors, view

from elu_zoo.paper import claims, report
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.run.spec import Plan
from elu_zoo.paper.views import View


def plan(budget="short", seeds=2):
    return Plan(budget, None, seeds, Path("runs"), imagenet="pictures")


def sections(views):
    """Returns the report's sections by title."""
    text = report.text(views, claims.table(views))
    found = re.split(r"^## (.*)\n", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2], strict=True))


def section(name, views):
    return sections(views)[EXPERIMENTS[name].title]


def test_sections_of_experiments_that_were_not_run():
    found = sections({})
    titles = [experiment.title for experiment in EXPERIMENTS.values()]
    assert list(found) == ["The claims, counted", *titles, "The claims, one by one"]
    for name, experiment in EXPERIMENTS.items():
        text = found[experiment.title]
        assert f"Not run yet: `elu-zoo-reproduce {name}`." in text
        assert experiment.note.strip() in text
        assert "figures/" not in text and "| " not in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fig2", "The paper, section 4.1.1."),
        ("depth", "The paper, abstract."),
        ("fig7", "The paper, appendix C."),
    ],
)
def test_the_section_of_the_paper(name, words):
    assert words in section(name, {})


def test_tally():
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
    assert report.tally(rows).splitlines() == [
        "| by unit and measure | holds | does not hold | not decided |",
        "|---|---|---|---|",
        "| [Figure 2: activations and losses of an MNIST network](#figure-2-"
        "activations-and-losses-of-an-mnist-network) | 2 |  | 1 |",
        "| [Theory: the bias shift along training](#theory-the-bias-shift-along-"
        "training) |  | 1 |  |",
        "| all 4 | 2 | 1 | 1 |",
    ]


@pytest.mark.parametrize(
    ("name", "budget", "epochs"), [("fig4", "short", "3 or 7"), ("depth", "full", "40")]
)
def test_an_experiment_that_was_run(name, budget, epochs):
    seen = view(name, plan(budget))
    text = section(name, {name: seen})
    command = f"`elu-zoo-reproduce {name} --budget={budget}`"
    assert f"Budget: {budget}, {epochs} epochs; {command}" in text
    assert f"![{EXPERIMENTS[name].title}](figures/{name}.png)" in text
    assert EXPERIMENTS[name].summary(seen.rows) in text
    assert "Not run yet" not in text and "diverged" not in text
    assert re.search(r"\| ELU - ReLU \| 2 \| -\d.* \| p = 0\.\d+ \(n = 2\)", text)


def test_an_experiment_that_reads_two_others():
    text = section("wilcoxon", {"wilcoxon": view("wilcoxon", plan())})
    assert "Budget: short, 3 or 7 epochs; " in text
    assert "figures/wilcoxon.png" in text and "ELU - ReLU + BN" in text


def test_an_experiment_without_figure_and_runs():
    text = section("table1", {"table1": View("short", [])})
    assert "Budget: short; " in text and "figures/" not in text


def test_diverged_runs_are_named():
    seen = View("short", view("fig4", plan()).rows, ("fig4: relu, 3", "b"))
    text = section("fig4", {"fig4": seen})
    assert "Left out, as they diverged: fig4: relu, 3; b." in text


@pytest.mark.parametrize(("name", "batch_norm"), [("fig4", "False"), ("fig5", "True")])
def test_runs_at_chance_are_in_no_paired_test(name, batch_norm):
    def pairs(at_chance):
        seen = view(name, plan("full", 5))
        set_errors(seen.rows, "relu", range(at_chance), batch_norm=batch_norm)
        text = section(name, {name: seen}).partition("Pairs of runs:")[2]
        return re.findall(r"\| (ELU.* - ReLU.*?) \| (\d+) \|", text)

    assert [n for _, n in pairs(0)] == ["5"] * 2
    assert [n for _, n in pairs(1)] == ["4"] * 2
    assert pairs(5) == []


def test_tables_are_separate_blocks():
    views = {"fig4": view("fig4", plan()), "depth": view("depth", plan("full"))}
    text = report.text(views, claims.table(views))
    assert text.startswith("# ") and text.endswith("\n") and not text.endswith("\n\n")
    for block in text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        assert len({line.startswith("|") for line in lines}) == 1, block


NAN = math.nan


@pytest.mark.parametrize(
    ("whose", "numbers", "end"),
    [
        ("the paper's", (0, NAN, NAN, NAN, NAN, ""), "|  |  |  |  |"),
        ("ours", (5, -0.1234, -1, 0.5, 1 / 32, "full"),
         "| 5 | -0.123 (-1 to +0.5) | 0.031 | full |"),
        ("ours", (1, 0.1, NAN, NAN, 1, "short"), "| 1 | +0.1 | 1.000 | short |"),
        ("ours", (8, 2, 1, 3, NAN, "full"), "| 8 | +2 (+1 to +3) |  | full |"),
        ("ours", (10, 2, 1, 3, 1 / 1024, "full"),
         "| 10 | +2 (+1 to +3) | < 0.001 | full |"),
    ],
)  # fmt: skip
def test_a_line_of_the_table_of_claims(whose, numbers, end):
    keys = "n", "effect", "low", "high", "p", "budget"
    row = {"whose": whose, "section": "4.1", "claim": "it is so", "measure": "the loss"}
    row |= {"experiment": "fig2", "verdict": "holds"}
    row |= dict(zip(keys, numbers, strict=True))
    *_, line = report.text({}, [row]).strip().splitlines()
    section_ = "ours" if whose == "ours" else "4.1"
    assert line == f"| {section_} | it is so | the loss {end} **holds** |"
