import dataclasses
import importlib.metadata
import os
import socket

import keras
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.benchmark import machine, report

SECONDS = {"ours": np.array([1.0, 2.0, 3.0]), "other": np.array([2.0, 4.0, 9.0])}


@pytest.fixture
def step_rows():
    return report.timed("step", "a net", SECONDS, "ours")


def test_rows_have_quartiles_and_ratios(step_rows):
    start = ("step", "a net", "other", "ms", 3)
    assert step_rows[1] == report.Row(*start, 4000, 3000, 6500, "ours", 2, 2, 3)
    assert (step_rows[0].form, step_rows[0].ratio, step_rows[0].ratio_low) == ("ours", 1, 1)


def test_update_replaces_all_rows_of_a_case(step_rows, tmp_path):
    path = tmp_path / "rows.csv"
    step_rows = [dataclasses.replace(row, machine='a, "b"; c') for row in step_rows]
    report.update(path, step_rows)
    report.update(path, report.timed("op", "a unit", SECONDS, "ours"))
    report.check(path)
    others = report.timed("step", "another net", SECONDS, "other")
    report.update(path, others)
    report.update(path, new_rows := report.timed("op", "a unit", SECONDS, "other"))
    assert report.read(path) == [*step_rows, *others, *new_rows]


@pytest.mark.parametrize(
    ("old", "new"), [("4000.0", "fast"), (",case,", ",c,"), ("ours", '"'), ("part", "my notes")]
)
def test_a_damaged_or_other_file_is_not_overwritten(tmp_path, old, new, step_rows):
    path = tmp_path / "rows.csv"
    report.update(path, step_rows)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(errors.CorruptError, match="--csv"):
        report.check(path)
    with pytest.raises(errors.ResourceError, match="rows.csv"):
        report.check(path / "rows.csv")


def test_tables_have_a_title_and_cells_per_form(step_rows):
    more = report.rows("op", "its memory", SECONDS, "other", "MiB")
    (title, rows), (second, others) = report.tables([*step_rows, *more])
    assert (title, second) == ("a net, 3 rounds", "its memory, 3 rounds")
    assert rows[1] == {
        "form": "other",
        "ms": "4000",
        "quartiles": "3000 to 6500",
        "by ours": "2.000",
        "95 % interval": "2.000 to 3.000",
    }
    assert others[0]["MiB"] == "2" and others[1]["by other"] == "1.000"


def test_the_machine_is_described_without_host_and_user(monkeypatch):
    monkeypatch.setattr(machine, "_PACKAGES", ("keras", "no_such_package"))
    monkeypatch.setattr(machine.hardware, "accelerators", lambda: ["a card"])
    line = machine.line()
    assert f"; backend {keras.backend.backend()}; " in line and "a card; PyTorch" in line
    assert line.startswith("date ") and f"; keras {importlib.metadata.version('keras')}" in line
    assert socket.gethostname() not in line and os.path.expanduser("~") not in line
