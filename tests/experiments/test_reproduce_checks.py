"""What is refused before any work."""

import importlib.util

import pytest

from elu_zoo import errors
from elu_zoo.experiments import reproduce


def test_check(tmp_path):
    found = reproduce.check(["fig5", "noise"], tmp_path / "a/b")
    assert found == ["fig4", "fig5", "noise"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["scipy", "matplotlib"])
def test_a_package_is_not_installed(package, tmp_path, monkeypatch):
    found = importlib.util.find_spec

    def without(name, *parent):
        return None if name == package else found(name, *parent)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    words = rf'Experiments need {package}: pip install "elu-zoo\[paper\]"'
    with pytest.raises(errors.UsageError, match=words):
        reproduce.check(["noise"], tmp_path)


def test_refusals(tmp_path):
    with pytest.raises(errors.UsageError, match="'noises'. Did you mean 'noise'"):
        reproduce.check(["fig1", "noises"], tmp_path)
    (tmp_path / "file").touch()
    for output in tmp_path / "file", tmp_path / "file" / "out":
        with pytest.raises((OSError, errors.ResourceError), match="file is no folder"):
            reproduce.check(["noise"], output)
