"""Checks before any work, and rows that were computed before."""

import importlib.util

import pytest

from elu_zoo import errors, results
from elu_zoo.paper import reproduce
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.run.spec import Plan


def test_check(tmp_path):
    found = reproduce.check(["fig5", "noise"], tmp_path / "a/b")
    assert found == ["fig4", "fig5", "noise"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["scipy", "matplotlib"])
def test_a_package_that_is_not_installed(package, tmp_path, monkeypatch):
    found = importlib.util.find_spec

    def without(name, *parent):
        return None if name == package else found(name, *parent)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    words = rf'Experiments need {package}: pip install "elu-zoo\[paper\]"'
    with pytest.raises(errors.UsageError, match=words):
        reproduce.check(["noise"], tmp_path)


def test_arguments_that_are_refused(tmp_path):
    with pytest.raises(errors.UsageError, match="'noises'. Did you mean 'noise'"):
        reproduce.check(["fig1", "noises"], tmp_path)
    (tmp_path / "file").touch()
    for output in tmp_path / "file", tmp_path / "file" / "out":
        with pytest.raises((OSError, errors.ResourceError), match="file is no folder"):
            reproduce.check(["noise"], output)


def test_a_file_with_the_columns_of_another_version(tmp_path):
    """All files are checked before the first run, as the report reads all of them."""
    row = {"budget": "full", "activation": "elu", "seed": "0", "k": "1"}
    results.write(tmp_path / "figures" / "theory.csv", list(row), [row])
    plan = Plan("smoke", None, None, tmp_path / "runs")
    with pytest.raises(
        errors.DataError, match="theory.csv has other columns .* cosine"
    ):
        reproduce.reproduce(["fig1"], plan, tmp_path, jobs=1)
    assert not (tmp_path / "figures" / "fig1.csv").exists()


def test_activations_that_were_computed_before_stay(tmp_path, monkeypatch):
    made = Experiment(
        title="A fake",
        section="4",
        draw=None,
        summary=lambda rows: "",
        columns=("activation", "value"),
        compute=lambda plan: [{"activation": u, "value": 2} for u in plan.arms("elu")],
        covers=lambda plan, rows: False,
    )
    monkeypatch.setitem(EXPERIMENTS, "fake", made)
    old = [{"budget": "short", "activation": u, "value": "1"} for u in ("elu", "relu")]
    path = tmp_path / "figures" / "fake.csv"
    results.write(path, list(old[0]), old)
    plan = Plan("short", ("relu", "tanh"), None, tmp_path / "runs")
    reproduce.reproduce(["fake"], plan, tmp_path, jobs=1, say=lambda line: None)
    found = [(row["activation"], row["value"]) for row in results.read_file(path)]
    assert found == [("elu", "1"), ("relu", "2"), ("tanh", "2")]
