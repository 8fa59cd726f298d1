"""Fixtures: a small network with its weight file, and a stand-in of the hub."""

import hub_stand_in
import published_weights
import pytest

import elu_zoo
from elu_zoo.weights import hdf5, manifest


@pytest.fixture(scope="module")
def model():
    return elu_zoo.get_model(published_weights.MODEL, width=0.1, preprocessing=True, seed=3)


@pytest.fixture(scope="module")
def content(model):
    return hdf5.write(model)


@pytest.fixture
def path(content, tmp_path):
    path = tmp_path / "net.weights.h5"
    path.write_bytes(content)
    return path


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty $ELU_ZOO_HOME."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def hub(home, tmp_path):
    """An empty stand-in of the Hugging Face Hub."""
    with hub_stand_in.serve(tmp_path / "cache") as hub:
        yield hub


@pytest.fixture(scope="module")
def run_parts():
    """The entry, the bytes and the model of the weight file that `run` writes."""
    return published_weights.make()


@pytest.fixture
def run(run_parts, home, tmp_path, monkeypatch):
    """The path of a weight file beside its entry. The manifest is empty."""
    monkeypatch.setattr(manifest, "published", dict)
    return published_weights.write(tmp_path / "run", *run_parts[:2])
