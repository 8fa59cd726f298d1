"""`reproduce` checks names, packages and files before any run starts."""

import importlib.util

import pytest

from elu_zoo import errors, results
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper import names, reproduce


def test_check_returns_the_experiments_and_writes_nothing(tmp_path):
    found = reproduce.check(["fig5", "depth"], tmp_path / "a/b")
    assert found == ["fig4", "fig5", "depth"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["scipy", "pandas", "matplotlib"])
def test_a_missing_package_raises_an_error(package, monkeypatch):
    find_spec = importlib.util.find_spec

    def without(name, *parent):
        return None if name == package else find_spec(name, *parent)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    words = rf'Experiments need {package}. Run: pip install "elu-zoo\[paper\]"'
    with pytest.raises(errors.UsageError, match=words):
        names.check(["depth"])


def test_wrong_names_and_folders_raise_an_error(tmp_path):
    with pytest.raises(errors.UsageError, match="'depths'. Did you mean 'depth'"):
        reproduce.check(["fig1", "depths"], tmp_path)
    (tmp_path / "file").touch()
    for output in tmp_path / "file", tmp_path / "file" / "out":
        with pytest.raises((OSError, errors.ResourceError), match="file is no folder"):
            reproduce.check(["depth"], output)


def test_all_files_are_checked_for_columns_before_the_first_run(tmp_path):
    row = {"budget": "full", "activation": "elu", "seed": "0", "k": "1"}
    results.write(tmp_path / "figures" / "theory.csv", list(row), [row])
    plan = Plan("smoke", None, tmp_path / "runs")
    with pytest.raises(errors.DataError, match="theory.csv has other columns .* cosine"):
        reproduce.reproduce(["fig1"], plan, tmp_path, jobs=1)
    assert not (tmp_path / "figures" / "fig1.csv").exists()
