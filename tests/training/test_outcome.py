import json
import os
import subprocess
from pathlib import Path

import pytest

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.training import outcome
from elu_zoo.weights import entries


def test_unfinished_run(tmp_path):
    assert outcome.find(tmp_path) is None


@pytest.mark.parametrize(
    "text, words",
    [("{", "is not JSON"), ("[]", "is not an entry"), ('{"format": 1}', "lacks")],
)
def test_damaged_outcome(tmp_path, text, words):
    (tmp_path / "outcome.json").write_text(text)
    with pytest.raises(errors.CorruptError, match=words):
        outcome.find(tmp_path)


@pytest.fixture
def git(monkeypatch):
    """Makes git answer for a repository whose code is at this commit."""

    def answer(*, tracked=True, changed="", found=True):
        def run(command, **_):
            if not found:
                raise subprocess.CalledProcessError(128, command)
            kind = command[3]
            text = {"rev-parse": "0123456789ab\n", "status": changed}.get(kind, "")
            code = int(kind == "ls-files" and not tracked)
            return subprocess.CompletedProcess(command, code, stdout=text)

        monkeypatch.setattr(subprocess, "run", run)

    return answer


@pytest.mark.parametrize(
    "repository, expected",
    [
        ({}, "0123456789ab"),
        ({"changed": " M file.py\n"}, "0123456789ab+"),
        ({"tracked": False}, f"release {elu_zoo.__version__}"),
        ({"found": False}, f"release {elu_zoo.__version__}"),
    ],
)
def test_commit(git, repository, expected):
    git(**repository)
    assert outcome.commit() == expected


def test_hardware_names_the_cores(monkeypatch):
    assert outcome.hardware().endswith(f", {os.cpu_count()} cores")
    assert len(outcome.hardware()) > len(f", {os.cpu_count()} cores")

    def refuse(_):
        raise OSError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert outcome.hardware().endswith(f", {os.cpu_count()} cores")


def test_killed_while_writing_the_outcome(smoke, train, tmp_path, monkeypatch):
    """A rerun writes the same weights, tag and metrics, and nothing twice."""
    write_json, writes = files.write_json, []

    def killed(path, value):
        if path.name == "outcome.json":
            raise KeyboardInterrupt
        writes.append(path.name)
        write_json(path, value)

    monkeypatch.setattr(files, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        train(smoke(), tmp_path)
    monkeypatch.setattr(files, "write_json", write_json)
    before = {p.name: p.read_bytes() for p in tmp_path.glob("*.weights.h5")}
    assert len(before) == 1 and outcome.find(tmp_path) is None

    entry = train(smoke(), tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.glob("*.weights.h5")} == before
    assert list(before) == [entry["tag"] + entries.SUFFIX]
    assert json.loads((tmp_path / (entry["tag"] + ".json")).read_text()) == entry
    assert outcome.find(tmp_path) == entry
