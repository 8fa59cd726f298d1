"""Fixtures that run binaries in an empty folder, and a shared run with its export."""

import pytest
from binaries import run_here, run_process


@pytest.fixture
def cli(tmp_path, monkeypatch):
    """A function that runs binaries in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run_here


@pytest.fixture
def process(tmp_path, monkeypatch):
    """A function that runs binaries in new processes, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run_process


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a finished smoke run on mnist_5k. Tests must not change it."""
    workdir = tmp_path_factory.mktemp("trained") / "run"
    result = run_here("train", "--config=quickstart:smoke=True", "--workdir", workdir)
    assert result.code == 0, result.err
    return workdir


@pytest.fixture(scope="session")
def exported(trained, tmp_path_factory):
    """The base folder of an export of `trained`. Tests must not change it."""
    base = tmp_path_factory.mktemp("exported")
    result = run_here(
        "export", "--model=mnist_mlp_8x128", "--weights", trained,
        "--export_dir", base
    )  # fmt: skip
    assert result.code == 0, result.err
    return base
