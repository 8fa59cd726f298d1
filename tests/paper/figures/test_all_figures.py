"""The figure and the table of every experiment are drawn from synthetic rows."""

import types
from pathlib import Path

import pytest
from synthetic_rows import TRAINED, rows_of, write

from elu_zoo import results, zoo
from elu_zoo.pairs import grouping
from elu_zoo.pairs.spec import Plan
from elu_zoo.pairs.store import KEY
from elu_zoo.paper import reproduce, views
from elu_zoo.paper.experiments import EXPERIMENTS

pytest.importorskip("matplotlib")


def plan(budget="short", seeds=None):
    return Plan(budget, seeds, Path("runs"), imagenet="pictures")


def timing_rows():
    numbers = {"value": "0.5", "ratio": "1.1", "ratio_low": "1.0", "ratio_high": "1.2"}
    forms = "elu", "relu", "relu, batch norm"
    return [{"case": "elu_cifar_11", "form": form, "rounds": "15"} | numbers for form in forms]


def experiment_rows(name, options):
    """Returns synthetic or computed rows of an experiment."""
    experiment = EXPERIMENTS[name]
    if experiment.trials:
        return rows_of(name, options)
    if name == "timing":
        return timing_rows()
    computed = experiment.compute(options) if experiment.compute else []
    return [{c: str(row.get(c, "")) for c in experiment.columns} for row in computed]


def cells(lines):
    return [cell.strip("| ") for line in lines for cell in line.split(" | ")]


# experiment: texts that the table has instead of the names of activations.
NAMED = {
    "fig7": ("dense1", "dense2"),
    "timing": ("elu", "relu"),
    "table1": ("elu_cifar_18", "allcnn_c"),
    "theorems": ("Theorem 2",),
}


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.usefixtures("quick_figures")
def test_an_experiment_has_two_figure_files_or_a_table(name, tmp_path, monkeypatch):
    info = types.SimpleNamespace(parameters=10**6, multiply_accumulates=10**9)
    monkeypatch.setattr(zoo, "model_info", lambda name: info)
    experiment = EXPERIMENTS[name]
    needed = [experiment_rows(need, plan(seeds=2)) for need in views.needs(name)]
    rows = [row for part in needed for row in part]
    if experiment.draw:
        experiment.draw(grouping.frame(rows), tmp_path / "figures" / name)
        files = {p.name: p.read_bytes() for p in (tmp_path / "figures").iterdir()}
        assert set(files) == {f"{name}.png", f"{name}.svg"}
        assert files[f"{name}.png"].startswith(b"\x89PNG")
        assert b"</svg>" in files[f"{name}.svg"]
    if not experiment.summary:
        assert experiment.draw
        return
    table, *_ = experiment.summary(grouping.frame(rows)).split("\n\n")
    head, rule, *lines = table.splitlines()
    assert head.startswith("| ") and set(rule) == {"|", "-"} and lines
    assert {line.count(" | ") for line in lines} == {head.count(" | ")}
    activations = {row.get("activation") for row in rows}
    for text in NAMED.get(name, activations):
        assert any(text in cell for cell in cells([head, *lines])), text


@pytest.mark.parametrize(
    ("name", "title", "column", "arm"),
    [
        ("fig2", "test error %", "test_error_percent", "elu"),
        ("fig4", "test error %", "test_error_percent", "elu, first 10 epochs"),
        ("depth", "epochs until the training loss is 0.1", "epochs_to_loss", "elu, 02 layers"),
    ],
)
def test_a_line_of_a_table_has_the_last_values_of_a_run(name, title, column, arm):
    rows = rows_of(name, plan(seeds=1))
    head, _, line, *_ = EXPERIMENTS[name].summary(grouping.frame(rows)).splitlines()
    *_, value = (r[column] for r in rows if r["activation"] == "elu"
                 and arm in ("elu", f"elu, {r['variant']}") and r[column])  # fmt: skip
    found = dict(zip(cells([head]), cells([line]), strict=True))
    assert (found["activation"], found["runs"]) == (arm, "1")
    assert float(found[title]) == pytest.approx(float(value), rel=5e-3)


def test_the_table_of_learning_rates_lists_diverged_runs(tmp_path):
    write("fig3", tmp_path, plan(), diverged={("relu", 1)})
    frame = views.view("fig3", tmp_path).frame
    table, _, diverged = EXPERIMENTS["fig3"].summary(frame).partition("\n\n")
    assert "| relu, lr 0.01 | 4 |" in table and "| elu, lr 0.01 | 5 |" in table
    assert diverged.startswith("Runs that diverged: 1 of 20 with lr 0.0001; ")


def report_section(name, output):
    """Draws an experiment from the stored rows, and returns its section."""
    reproduce.draw(name, output)
    reproduce.write_report(output)
    text = (output / "reproduction.md").read_text()
    _, _, section = text.partition(f"\n## {EXPERIMENTS[name].title}\n")
    return section.partition("\n## ")[0]


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_experiment_is_drawn_if_elu_or_all_runs_diverged(name, whole, drawn, tmp_path):
    trials = EXPERIMENTS[name].trials(plan(seeds=1))
    diverged = {(t.activation, t.seed) for t in trials if whole or t.activation == "elu"}
    write(name, tmp_path, plan(seeds=1), diverged=diverged)
    assert report_section(name, tmp_path)
    if not whole:
        assert (name in drawn) == bool(EXPERIMENTS[name].draw)


def test_runs_whose_values_are_nan_are_in_no_claim_test(drawn, tmp_path):
    # Measures of a network whose units are all dead are nan.
    write("theory", tmp_path, plan())
    found = views.points("theory", tmp_path)
    for row in found.rows:
        if (row["activation"], row["seed"]) == ("relu", "0"):
            places = "epoch", "damping", "diverged", *KEY
            row |= {k: "nan" for k, v in row.items() if v and k not in places}
    results.write(tmp_path / "figures" / "theory.csv", list(found.rows[0]), found.rows)
    report_section("theory", tmp_path)
    assert "theory" in drawn
    found = results.read_file(tmp_path / "claim_tests.csv")
    own = [r for r in found if r["experiment"] == "theory"]
    counts = {r["n"] for r in own if "relu" in r["id"]}
    # ReLU lacks one of five runs, leaky ReLU does not.
    assert counts == {"4", "5"}
