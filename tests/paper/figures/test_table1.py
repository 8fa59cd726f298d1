"""Table 1 has the paper's errors, and the errors of our runs of a whole schedule."""

import types
import zlib

import pytest

from elu_zoo import results, zoo
from elu_zoo.pairs import grouping
from elu_zoo.paper.figures import table1

ONE = "(1 run of 140 epochs)"


@pytest.fixture(autouse=True)
def sizes(monkeypatch):
    """Replaces `zoo.model_info`, which builds the model."""

    def info(name):
        count = zlib.crc32(name.encode())
        return types.SimpleNamespace(parameters=count, multiply_accumulates=2 * count)

    monkeypatch.setattr(zoo, "model_info", info)
    return info


def test_rows_have_the_papers_errors_and_our_sizes(sizes):
    rows = table1.compute(None)
    *others, ours = rows
    paper = results.read("table1.csv")
    assert len(paper) == 8
    for row, expected in zip(others, paper, strict=True):
        for key in "network", "model", "augmented":
            assert row[key] == expected[key]
        assert row["paper_cifar10"] == expected["cifar10_error_percent"]
        assert row["paper_cifar100"] == expected["cifar100_error_percent"]
    assert (ours["model"], ours["paper_cifar10"]) == ("elu_cifar_11", "")
    assert ours["paper_cifar100"] == "28.75"
    for row in rows:
        expected = sizes(row["model"])
        assert row["parameters"] == expected.parameters
        assert row["multiply_accumulates"] == expected.multiply_accumulates


def run(**changes):
    base = {"model": "dsn", "dataset": "cifar10", "activation": "elu"}
    base |= {"batch_norm": "False", "seed": "0", "schedule": "paper", "schedule_share": "1.0"}
    base["config"] = "table1_baselines-dsn-cifar10"
    return base | {"epochs": "140", "test_error_percent": "10.0"} | changes


@pytest.mark.parametrize(
    ("runs", "elu", "ours"),
    [
        ([], "", ""),
        ([run()], f"10.00 {ONE}", ""),
        ([run(), run(test_error_percent="9.0"), run(seed="1", test_error_percent="10.0")],
         "9.50 ± 0.71 (2 runs of 140 epochs)", ""),
        ([run(), run(schedule="quick", test_error_percent="1")], f"10.00 {ONE}", ""),
        ([run(), run(activation="relu", test_error_percent="12")],
         f"10.00 {ONE}", f"12.00 {ONE}"),
        ([run(model="nin")], "", ""),
        ([run(dataset="cifar100")], "", ""),
        ([run(batch_norm="True")], "", ""),
        ([run(schedule_share="0.5")], "", ""),
        ([run(), run(config="table1_baselines-dsn-cifar10-validation")],
         f"10.00 {ONE}", ""),
        ([run(config="my-dsn-cifar10")], "", ""),
    ]
)  # fmt: skip
def test_only_runs_of_a_whole_schedule_are_in_the_table(monkeypatch, runs, elu, ours):
    read = {"results.csv": runs, "table1.csv": results.read("table1.csv")[1:2]}
    monkeypatch.setattr(table1.results, "read", read.__getitem__)
    dsn, elu_cifar_11 = table1.compute(None)
    assert (dsn["model"], dsn["elu_cifar10"], dsn["ours_cifar10"]) == ("dsn", elu, ours)
    assert elu_cifar_11["ours_cifar10"] == elu_cifar_11["elu_cifar10"] == ""


def test_the_table_has_our_errors_beside_the_papers():
    texts = [
        {c: str(row.get(c, "")) for c in table1.EXPERIMENT.columns} for row in table1.compute(None)
    ]
    lines = table1.EXPERIMENT.summary(grouping.frame(texts)).splitlines()[2:]
    assert "| 18.04; ReLU 17.58 (1 run of 140 epochs), ELU 17.31 " in lines[0]
    assert "| 45.80; not trained to the end |" in lines[0]
    assert "| not reported; not trained to the end | 28.75; ELU 29.80 (1" in lines[-1]
    for line, row in zip(lines, texts, strict=True):
        assert row["network"] in line and row["paper_cifar10"] in line
        assert f"{int(row['parameters']):,}" in line
        assert ("| yes |" in line) == (row["augmented"] == "True")
