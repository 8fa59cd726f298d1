"""The figure and the table of every experiment are drawn from synthetic rows."""

import types
from pathlib import Path

import pytest
from synthetic_rows import TRAINED, rows_of, set_errors, view, write

from elu_zoo import results, zoo
from elu_zoo.pairs import grouping, plots
from elu_zoo.pairs.spec import Plan
from elu_zoo.pairs.store import KEY
from elu_zoo.paper import reproduce, views
from elu_zoo.paper.experiments import EXPERIMENTS

figure = pytest.importorskip("matplotlib.figure")
PAPER = "elu", "relu", "leaky_relu", "shifted_relu"


def plan(budget="short", seeds=None):
    return Plan(budget, seeds, Path("runs"), imagenet="pictures")


TIMED = [
    (case, form)
    for case in ("mnist_mlp_8x128, batch of 64", "elu_cifar_11, batch of 100")
    for form in ("elu", "relu", "relu, batch norm")
]


def _timing():
    numbers = {"value": "0.5", "ratio": "1.1", "ratio_low": "1.0", "ratio_high": "1.2"}
    return [{"case": c, "form": f, "rounds": "15"} | numbers for c, f in TIMED]


def experiment_rows(name, options):
    """Returns synthetic or computed rows of an experiment."""
    experiment = EXPERIMENTS[name]
    if experiment.trials:
        return rows_of(name, options)
    if name == "timing":
        return _timing()
    computed = experiment.compute(options) if experiment.compute else []
    return [{c: str(row.get(c, "")) for c in experiment.columns} for row in computed]


def cells(lines):
    return [cell.strip("| ") for line in lines for cell in line.split(" | ")]


# experiment: texts that the table has instead of the names of activations.
NAMED = {"wilcoxon": ("ELU", "ReLU", "LReLU", "SReLU"), "timing": ("elu", "relu"),
         "table1": ("elu_cifar_18", "allcnn_c"), "fig1": PAPER,
         "theorems": ("Theorem 2",)}  # fmt: skip


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_two_figure_files_and_a_table(name, tmp_path, monkeypatch):
    # High resolution and layout are slow, and are tested in tests/pairs/test_plots.py.
    monkeypatch.setattr(plots, "DPI", 40)
    monkeypatch.setattr(figure, "Figure", lambda size, layout, figure=figure.Figure: figure(size))
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
    head, rule, *lines = experiment.summary(grouping.frame(rows)).splitlines()
    assert head.startswith("| ") and set(rule) == {"|", "-"} and lines
    assert {line.count(" | ") for line in lines} == {head.count(" | ")}
    activations = {row.get("activation") for row in rows}
    for text in NAMED.get(name, activations):
        assert any(text in cell for cell in cells([head, *lines])), text


FIRST = {"activation": "elu", "batch_norm": "False", "variant": "", "seed": "0"}
START = {"step": "600", "variant": "first 10 epochs"}


@pytest.mark.parametrize(
    ("name", "title", "column", "where"),
    [
        ("fig2", "training loss, epoch 10", "train_loss", {"epoch": "10"}),
        ("fig2", "median activation, epoch 25", "median_activation", {"epoch": "25"}),
        ("fig2", "test error %", "test_error_percent", {"epoch": "60"}),
        ("fig4", "test error %", "test_error_percent", START),
        ("fig6", "top-5 error", "validation_top5_error_percent", {"step": "600"}),
        ("depth", "test error %, elu", "test_error_percent", {"variant": "02 layers"}),
        ("depth", "epochs to 0.1, elu", "epochs_to_loss", {"variant": "02 layers"}),
        ("theory", "bias shift", "uncorrected_shift", {"epoch": "1"}),
    ],
)
def test_the_first_line_of_a_table_has_the_values_of_rows(name, title, column, where):
    rows = rows_of(name, plan(seeds=1))
    head, _, line, *_ = EXPERIMENTS[name].summary(grouping.frame(rows)).splitlines()
    (value,) = {
        row[column] for row in rows if (FIRST | where).items() <= row.items() and row[column]
    }
    found = dict(zip(cells([head]), cells([line]), strict=True))[title]
    assert found == f"{float(value):.3g}"


def test_the_table_of_learning_rates_counts_diverged_runs(tmp_path):
    write("fig3", tmp_path, plan(), diverged={("relu", 1)})
    frame = views.view("fig3", tmp_path).frame
    head, _, *lines = EXPERIMENTS["fig3"].summary(frame).splitlines()
    assert cells([head])[2:] == ["elu", "relu", "leaky_relu", "shifted_relu"]
    table = [cells([line]) for line in lines]
    rates = "0.01", "0.001", "0.0001", "1e-05"
    rates += tuple(f"{rate}, mean" for rate in rates)
    splits = "training", "test"
    assert [line[:2] for line in table] == [[r, s] for r in rates for s in splits]
    assert all(line[3].endswith(", 1 of 5 diverged") for line in table)
    assert not any("diverged" in line[i] for line in table for i in (2, 4, 5))


@pytest.mark.parametrize(
    ("contradicts", "verdict", "effect"),
    [(False, "holds", "-1.00"), (True, "does not hold", "+1.00")],
)
def test_the_table_of_tests_compares_elu_with_every_arm(contradicts, verdict, effect):
    frame = view("wilcoxon", plan(seeds=6), contradicts).frame
    _, _, *lines = EXPERIMENTS["wilcoxon"].summary(frame).splitlines()
    found = [cells([line]) for line in lines]
    arms = "ReLU", "LReLU", "SReLU", "ELU + BN", "ReLU + BN"
    measures = "test error %", "training loss, last epoch"
    expected = [[measure, f"ELU - {arm}"] for measure in measures for arm in arms]
    assert [line[:2] for line in found] == expected
    assert {(line[2], *line[6:]) for line in found} == {("6", effect, "6", verdict)}


def test_the_table_of_tests_decides_by_runs_that_learned():
    seen = view("wilcoxon", plan(seeds=6)).rows
    set_errors(seen, "shifted_relu", range(1))
    set_errors(seen, "relu", range(6), batch_norm="True")
    _, _, *lines = EXPERIMENTS["wilcoxon"].summary(grouping.frame(seen)).splitlines()
    table = {cells([line])[1]: cells([line]) for line in lines}
    counted = {pair: (line[2], line[-2], line[-1]) for pair, line in table.items()}
    assert counted == {
        "ELU - ReLU": ("6", "6", "holds"),
        "ELU - LReLU": ("6", "6", "holds"),
        "ELU - SReLU": ("6", "5", "not decided"),
        "ELU - ELU + BN": ("6", "6", "holds"),
        "ELU - ReLU + BN": ("6", "0", "not decided"),
    }
    set_errors(seen, "elu", range(6))
    _, _, *lines = EXPERIMENTS["wilcoxon"].summary(grouping.frame(seen)).splitlines()
    assert {tuple(cells([line])[-2:]) for line in lines} == {("0", "not decided")}


def draw_and_report(name, options, output, diverged):
    """Draws an experiment from rows in files, and returns its section of the report."""
    write(name, output, options, diverged=diverged)
    return report_section(name, output)


def report_section(name, output):
    """Draws an experiment from the stored rows, and returns its section."""
    reproduce.draw(name, output)
    reproduce.write_report(output)
    text = (output / "reproduction.md").read_text()
    _, _, section = text.partition(f"\n## {EXPERIMENTS[name].title}\n")
    return section.partition("\n## ")[0]


@pytest.mark.parametrize("name", TRAINED)
def test_the_other_activations_are_drawn_if_one_diverged(name, drawn, tmp_path):
    seeds = {trial.seed for trial in EXPERIMENTS[name].trials(plan(seeds=1))}
    section = draw_and_report(name, plan(seeds=1), tmp_path, {("elu", seed) for seed in seeds})
    assert name in drawn
    assert any("relu" in cell for cell in cells(section.splitlines()))


RELU_0 = "relu", "0"


@pytest.mark.parametrize("name", TRAINED)
def test_the_report_is_written_if_all_runs_diverged(name, drawn, tmp_path):
    runs = {(t.activation, t.seed) for t in EXPERIMENTS[name].trials(plan(seeds=1))}
    assert draw_and_report(name, plan(seeds=1), tmp_path, runs)


def test_runs_whose_values_are_nan_are_in_no_claim_test(drawn, tmp_path):
    # Measures of a network whose units are all dead are nan.
    write("theory", tmp_path, plan())
    found = views.points("theory", tmp_path)
    for row in found.rows:
        if (row["activation"], row["seed"]) == RELU_0:
            places = "epoch", "diverged", *KEY
            row |= {k: "nan" for k, v in row.items() if v and k not in places}
    results.write(tmp_path / "figures" / "theory.csv", list(found.rows[0]), found.rows)
    report_section("theory", tmp_path)
    assert "theory" in drawn
    found = results.read_file(tmp_path / "claim_tests.csv")
    own = [r for r in found if r["experiment"] == "theory"]
    counts = {r["n"] for r in own if "relu" in r["id"]}
    # ReLU lacks one of five runs, leaky ReLU does not. The 0 is of rank correlations,
    # which are undefined for constant rows.
    assert counts - {"0"} == {"4", "5"}
