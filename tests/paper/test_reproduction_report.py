"""The report has a section for each experiment, and tables of claims and tests."""

import re
from pathlib import Path

import pytest
from synthetic_rows import set_errors, view

from elu_zoo.pairs.spec import Plan
from elu_zoo.paper import claim_tables, report
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.views import View
from elu_zoo.paper.views import view as committed_view

RESULTS = Path(__file__).parents[2] / "configs" / "results"
IN_WORDS = "The claims in the paper's words"


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
    first = "The paper's claims", IN_WORDS, "What only a GPU can decide"
    assert list(found) == [*first, *titles, "The tests of the claims"]
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
def test_a_section_states_the_section_of_the_paper(name, words):
    assert words in section(name, {})


def test_the_table_of_claims_has_a_line_for_each_claim():
    seen = view("fig2", plan("full", 5))
    text = sections({"fig2": seen})[IN_WORDS]
    table = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    titles, *lines = table
    assert len(lines) == sum(len(each.claims) for each in EXPERIMENTS.values())
    (first,) = [line for line in lines if "decreases much more rapidly" in line[1]]
    assert re.fullmatch(r"training loss in epoch 5, .*: -.* \(-.* to -.*\)", first[3])
    assert first[4] == "smaller than 0"
    assert first[5:] == ["300 of 300 epochs", "5", "8 support", "**reproduced** |"]
    assert lines[-1][-1] == "**not tested** |" and lines[-1][3] == ""


def test_the_report_opens_with_all_claims_on_one_screen():
    text = sections({"fig2": view("fig2", plan("full", 5))})["The paper's claims"]
    _, table = text.split("\n\n| claim")
    lines = table.strip().splitlines()[2:]
    assert len(lines) == sum(len(each.claims) for each in EXPERIMENTS.values()) <= 30
    assert max(map(len, lines)) <= 100
    first = "| mnist faster learning | 5 | 300 of 300 epochs | reproduced |"
    assert lines[0] == first
    assert lines[-1].endswith("| not tested |")


def test_undecided_claims_for_a_gpu_are_listed():
    text = sections({})["What only a GPU can decide"]
    assert text.count("\n- ") >= 4
    decided = {"fig4": view("fig4", plan("full", 10))}
    found = sections(decided)["What only a GPU can decide"]
    words = "is significantly better than for other activation"
    assert words in text and words not in found
    by_eye = re.findall(r"- (\w+ \w+).*\(by eye\)$", text, re.M)
    assert by_eye == ["As ELUs", "ELU networks", "On ImageNet"]


@pytest.mark.parametrize(
    ("name", "budget", "epochs"),
    [
        ("fig4", "short", "10 of 330 epochs"),
        ("depth", "full", "40 of figure 2's 300 epochs"),
    ],
)
def test_an_experiment_that_was_run_has_its_section(name, budget, epochs):
    seen = view(name, plan(budget))
    text = section(name, {name: seen})
    command = f"`elu-zoo-reproduce {name} --budget={budget}`"
    assert f"{epochs}. Command: {command}" in text
    assert f"![{EXPERIMENTS[name].title}](figures/{name}.png)" in text
    assert EXPERIMENTS[name].summary(seen.frame) in text
    assert "Not run yet" not in text and "diverged" not in text
    assert re.search(r"\| ELU - ReLU \| 2 \| -\d.* \| p = 0\.\d+ \(n = 2\)", text)


@pytest.mark.parametrize(
    ("name", "seen", "words"),
    [
        ("table1", committed_view("table1", RESULTS), "No training"),
        ("timing", committed_view("timing", RESULTS), "Single training steps"),
        ("fig6", view("fig6", plan()), "1 of our config's 80 epochs"),
    ],
)
def test_an_experiment_states_what_it_trains(name, seen, words):
    text = section(name, {name: seen})
    assert f"\n{words}. Command" in text
    assert ("figures/" in text) == (EXPERIMENTS[name].draw is not None)


def test_runs_of_a_longer_budget_have_their_own_part():
    full = view("fig4", plan("full", 1))
    full = View("full", full.rows, ("fig4: relu, 3",))
    text = section("fig4", {"fig4": View("short", view("fig4", plan()).rows, (), full)})
    part = text.partition("### --budget=full")[2]
    assert "330 of 330 epochs, one seed so far. These runs decide no claim. " in part
    assert "Command: `elu-zoo-reproduce fig4 --budget=full`.\n" in part
    assert "Left out because they diverged: fig4: relu, 3." in part
    assert "(figures/fig4_full.png)" in part
    assert EXPERIMENTS["fig4"].summary(full.frame) in part
    assert "| elu | 1 |" in part


@pytest.mark.parametrize(("name", "batch_norm"), [("fig4", "False"), ("fig5", "True")])
def test_runs_at_chance_are_in_no_paired_test(name, batch_norm):
    def pairs(at_chance):
        seen = view(name, plan("full", 5))
        set_errors(seen.rows, "relu", range(at_chance), batch_norm=batch_norm)
        text = section(name, {name: seen}).partition("Pairs of runs")[2]
        return re.findall(r"\| (ELU.* - ReLU.*?) \| (\d+) \|", text)

    assert [n for _, n in pairs(0)] == ["5"] * 2
    assert [n for _, n in pairs(1)] == ["4"] * 2
    assert pairs(5) == []


def test_tables_and_paragraphs_are_separate_blocks():
    views = {"fig4": view("fig4", plan()), "depth": view("depth", plan("full"))}
    text = report.text(views, claim_tables.judge(views))
    assert text.startswith("# ") and text.endswith("\n") and not text.endswith("\n\n")
    for block in text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        assert len({line.startswith("|") for line in lines}) == 1, block


def test_the_table_of_tests_has_a_line_for_each_measured_test():
    text = sections({"fig7": view("fig7", plan("full", 5))})["The tests of the claims"]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    tests = [t for c in EXPERIMENTS["fig7"].claims for t in c.tests]
    assert len(lines) == len(tests)
    assert sum(" (ours) |" in line for line in lines) == sum(not t.in_paper for t in tests)
    measured = [line for line in lines if "| supports |" in line]
    assert len(measured) == 5
    number = r"-?[\d.]+"
    effect = rf"\| 5 \| {number} \({number} to {number}\) \| {number} to {number} "
    assert re.search(effect + r"\| < 0.001 \| 0.031 \|", measured[0])
