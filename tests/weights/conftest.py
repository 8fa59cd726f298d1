"""Fixtures: a small network with its weight file, and a server of files."""

import file_sources
import loopback
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
def server():
    with loopback.serve(file_sources.Handler) as server:
        yield server


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty $ELU_ZOO_HOME; requests to the loopback interface use no proxy."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "home"


@pytest.fixture(scope="module")
def run_parts():
    """The entry, the bytes and the model of the weight file that `run` writes."""
    return published_weights.make()


@pytest.fixture
def run(run_parts, home, tmp_path, monkeypatch):
    """The path of a weight file beside its entry. The manifest is empty."""
    monkeypatch.setattr(manifest, "published", dict)
    return published_weights.write(tmp_path / "run", *run_parts[:2])
