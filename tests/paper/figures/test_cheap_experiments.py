"""What needs no training: figure 1 against formulas, table 1 against its sources."""

import functools
import types
import zlib
from pathlib import Path

import numpy as np
import pytest

from elu_zoo import results, zoo
from elu_zoo.paper.figures import fig1_activations, table1, theorems
from elu_zoo.paper.run.spec import Plan

PLAN = Plan("short", None, None, Path("runs"))
# Value, derivative and kinks.
FORMULAS = {
    "elu": (lambda x: np.where(x > 0, x, np.expm1(x)),
            lambda x: np.where(x > 0, 1, np.exp(x)), ()),
    "relu": (lambda x: np.maximum(x, 0), lambda x: np.where(x > 0, 1, 0), (0,)),
    "leaky_relu": (lambda x: np.where(x > 0, x, 0.1 * x),
                   lambda x: np.where(x > 0, 1, 0.1), (0,)),
    "shifted_relu": (lambda x: np.maximum(x, -1), lambda x: np.where(x > -1, 1, 0),
                     (-1,)),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2, ()),
}  # fmt: skip


@functools.cache
def curves(*names):
    rows = fig1_activations.compute(Plan("short", names, None, Path("runs")))
    return {
        name: np.array(
            [[r["x"], r["value"], r["derivative"]] for r in rows
             if r["activation"] == name]
        ).T
        for name in dict.fromkeys(row["activation"] for row in rows)
    }  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_figure_1(name):
    value, derivative, kinks = FORMULAS[name]
    x, y, dy = curves(*FORMULAS)[name]
    assert (x[0], x[-1]) == (-3, 3) and len(x) >= 200
    np.testing.assert_allclose(y, value(x), atol=1e-6)
    away = np.all([abs(x - kink) > 0.01 for kink in kinks], axis=0)
    away = np.broadcast_to(away, x.shape)
    assert away.sum() >= len(x) - 1
    # float32's rounding, by twice the step.
    np.testing.assert_allclose(dy[away], derivative(x[away]), atol=1e-3)


def test_the_units_of_figure_1():
    assert list(curves()) == ["elu", "relu", "leaky_relu", "shifted_relu"]
    assert list(curves("prelu", "elu")) == ["prelu", "elu"]


def test_the_ends_of_figure_1():
    rows = [{k: str(v) for k, v in row.items()}
            for row in fig1_activations.compute(PLAN)]  # fmt: skip
    table = fig1_activations.EXPERIMENT.summary({"fig1": rows})
    assert table.splitlines()[2:] == [
        "| elu | -0.950 | 0.000 | 3.000 |",
        "| relu | 0.000 | 0.000 | 3.000 |",
        "| leaky_relu | -0.300 | 0.000 | 3.000 |",
        "| shifted_relu | -1.000 | 0.000 | 3.000 |",
    ]


def info(name):
    """Stands in for `zoo.model_info`, which builds the model."""
    count = zlib.crc32(name.encode())
    return types.SimpleNamespace(parameters=count, multiply_accumulates=100 * count)


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(zoo, "model_info", info)
    return table1.compute(PLAN)


def test_table_1_has_the_papers_rows(rows):
    *found, ours = rows
    paper = results.read("table1.csv")
    assert len(paper) == 8
    for row, expected in zip(found, paper, strict=True):
        for key in ("network", "model", "augmented"):
            assert row[key] == expected[key]
        assert row["paper_cifar10"] == expected["cifar10_error_percent"]
        assert row["paper_cifar100"] == expected["cifar100_error_percent"]
    assert (ours["model"], ours["paper_cifar10"]) == ("elu_cifar_11", "")
    (section,) = {
        row["test_error_percent"]
        for row in results.read("paper.csv")
        if (row["model"], row["activation"]) == ("elu_cifar_11", "elu")
    }
    assert ours["paper_cifar100"] == section


def test_sizes_of_table_1_are_those_of_the_zoo(rows):
    assert len(rows) == 9 and {row["model"] for row in rows} <= set(zoo.list_models())
    for row in rows:
        expected = info(row["model"])
        assert row["parameters"] == expected.parameters
        assert row["multiply_accumulates"] == expected.multiply_accumulates


def test_errors_of_table_1_are_of_the_results(rows):
    """AlexNet alone has one: it alone went through its whole schedule."""
    cells = {
        (row["model"], whose, data): row[f"{whose}_{data}"]
        for row in rows
        for whose in ("ours", "elu")
        for data in ("cifar10", "cifar100")
    }
    errors_of = {
        run["activation"]: f"{float(run['test_error_percent']):.2f}"
        for run in results.read("results.csv")
        if run["config"] == "table1_baselines-alexnet_cifar-cifar10"
    }
    assert {key: text for key, text in cells.items() if text} == {
        ("alexnet_cifar", "ours", "cifar10"): f"{errors_of['relu']} {ONE}",
        ("alexnet_cifar", "elu", "cifar10"): f"{errors_of['elu']} {ONE}",
    }


ONE = "(1 run of 140 epochs)"


def run(**changes):
    base = {"model": "dsn", "dataset": "cifar10", "activation": "elu"}
    base |= {"batch_norm": "False", "schedule_share": "1.0", "config": "dsn"}
    base |= {"schedule": "paper", "epochs": "140", "steps": "30"}
    return base | {"test_error_percent": "10.0"} | changes


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], ""),
        ([run()], f"10.00 {ONE}"),
        ([run(), run(test_error_percent="11.0")],
         "10.50 ± 0.71 (2 runs of 140 epochs)"),
        ([run(schedule="fast")], ""),
        ([run(), run(schedule="fast", test_error_percent="1")], f"10.00 {ONE}"),
        ([run(model="nin")], ""),
        ([run(dataset="cifar100")], ""),
        ([run(activation="tanh")], ""),
        ([run(batch_norm="True")], ""),
        ([run(schedule_share="0.5")], ""),
    ],
)  # fmt: skip
def test_which_runs_are_ours(monkeypatch, runs, expected):
    read = {"results.csv": runs, "table1.csv": results.read("table1.csv")[1:2]}
    monkeypatch.setattr(table1.results, "read", read.__getitem__)
    monkeypatch.setattr(zoo, "model_info", info)
    dsn, _ = table1.compute(PLAN)
    assert (dsn["model"], dsn["elu_cifar10"]) == ("dsn", expected)


def test_a_network_with_its_own_unit_and_with_elu(monkeypatch):
    runs = [run(), run(activation="relu", test_error_percent="12.0")]
    read = {"results.csv": runs, "table1.csv": results.read("table1.csv")[1:2]}
    monkeypatch.setattr(table1.results, "read", read.__getitem__)
    monkeypatch.setattr(zoo, "model_info", info)
    dsn, elu_cifar_11 = table1.compute(PLAN)
    assert dsn["ours_cifar10"] == f"12.00 {ONE}"
    assert dsn["elu_cifar10"] == f"10.00 {ONE}"
    assert elu_cifar_11["ours_cifar10"] == elu_cifar_11["elu_cifar10"] == ""


def test_table_1_as_text(rows):
    columns = table1.EXPERIMENT.columns
    texts = [{c: str(row.get(c, "")) for c in columns} for row in rows]
    lines = table1.EXPERIMENT.summary({"table1": texts}).splitlines()[2:]
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert row["network"] in line and row["paper_cifar10"] in line
        assert f"{row['parameters']:,}" in line
        assert ("| yes |" in line) == (row["augmented"] == "True")


def test_the_theorems_are_right():
    """Two sides of each statement, apart by rounding alone."""
    found = theorems.compute(PLAN)
    statements = {row["statement"] for row in found}
    named = {s.partition(",")[0] for s in statements}
    assert named == {"Lemma 1", "Lemma 2", "Theorem 1", "Theorem 2"}
    draws = {row["draw"] for row in found}
    assert len(draws) >= 10 and len(found) == len(draws) * len(statements)
    assert all(0 <= row["distance"] < 1e-8 for row in found)
