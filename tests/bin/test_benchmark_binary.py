"""elu-zoo-benchmark: parts, files and errors."""

import csv

import numpy as np
import pytest

pytest.importorskip("tensorflow_serving")  # for the part serving

from elu_zoo.benchmark import parts, report

SMALL = ("--models=mnist_mlp_8x128", "--batch_size=8", "--rounds=1")


@pytest.fixture
def measured(monkeypatch):
    """The list of the arguments of `parts.measure`, which here measures nothing."""
    calls = []

    def measure(part, scope):
        calls.append((part, scope))
        if part == "op":
            raise ValueError("no op")
        seconds = {"ours": np.array([1.0]), "other": np.array([2.0])}
        return report.timed(part, "a net", seconds, "ours")

    monkeypatch.setattr(parts, "measure", measure)
    return calls


def test_one_part_is_printed_and_written(cli, measured, tmp_path):
    result = cli("benchmark", "--parts=replicas", *SMALL, "--csv=rows.csv")
    assert result.code == 0, result.err
    assert measured == [("replicas", parts.Scope(["mnist_mlp_8x128"], 8, 1))]
    assert "two logical CPU devices" in result.out and "other" in result.out
    assert "tensorflow 2." in result.out and "cores " in result.out
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert [row["form"] for row in rows] == ["ours", "other"]
    assert all("tensorflow 2." in row["machine"] for row in rows)


def test_by_default_all_parts_are_measured(cli, measured):
    result = cli("benchmark")
    assert result.code == 1
    assert result.err == "error: op was not measured: ValueError: no op\n"
    assert [part for part, _ in measured] == list(parts.PARTS)
    models = ("mnist_mlp_8x128", "mnist_autoencoder", "elu_cifar_11")
    assert measured[0][1] == parts.Scope(models, None, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--parts=stp"], "Unknown part 'stp'. Did you mean 'step'"),
        (["--csv=file/rows.csv"], "file is no folder"),
    ],
)
def test_mistakes_are_refused_before_measuring(cli, measured, tmp_path, arguments, words):
    (tmp_path / "file").touch()
    result = cli("benchmark", *arguments)
    assert result.code == (1 if words == "file is no folder" else 2)
    assert words in result.error
    assert measured == []
