import itertools
import json
import os
import subprocess
from pathlib import Path

import pytest

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.training import result
from elu_zoo.weights import cards, manifest


def test_unfinished_run(tmp_path):
    assert result.find(tmp_path) is None


@pytest.mark.parametrize(
    "text, words",
    [("{", "is not JSON"), ("[]", "is not an entry"), ('{"format": 1}', "lacks")],
)
def test_damaged_outcome(tmp_path, text, words):
    (tmp_path / "outcome.json").write_text(text)
    with pytest.raises(errors.CorruptError, match=words):
        result.find(tmp_path)


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
    assert result.commit() == expected


def test_hardware_names_the_cores(monkeypatch):
    assert result.hardware().endswith(f", {os.cpu_count()} cores")
    assert len(result.hardware()) > len(f", {os.cpu_count()} cores")

    def refuse(_):
        raise OSError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert result.hardware().endswith(f", {os.cpu_count()} cores")


def test_entry_of_a_classifier(smoke, train, tmp_path):
    entry = train(smoke(), tmp_path)
    assert entry["arguments"] == {
        "activation": {"name": "elu", "alpha": 1.0},
        "batch_norm": False,
        "input_shape": [28, 28, 1],
        "width": 0.25,
        "num_classes": 10,
    }
    assert entry["classes"] == [str(digit) for digit in range(10)]
    assert entry["examples"] == {"train": 640, "validation": 500, "test": 1000}
    units = [784, *[32] * 8, 10]
    macs = sum(a * b for a, b in itertools.pairwise(units))
    assert entry["multiply_accumulates"] == macs
    assert cards.text(entry, []).startswith(f"# {entry['tag']}")
    assert list(entry["metrics"]) == [
        *("test_loss", "test_error_percent"),
        *("validation_loss", "validation_error_percent"),
    ]


def test_examples_of_a_run_that_trains_on_the_validation_images(smoke, train, tmp_path):
    changes = {"data.train_on_validation": True, "data.train_examples": 0}
    entry = train(smoke({**changes, "train.epochs": 1}), tmp_path)
    assert entry["examples"] == {"train": 4000, "validation": 0, "test": 1000}


def test_entry_of_an_autoencoder(smoke, train, tmp_path):
    config = smoke(
        {
            "model.name": "mnist_autoencoder",
            "model.width": 0.05,
            "train.loss": "sigmoid_cross_entropy",
            "train.learning_rates": (0.001,),
        },
        "activation=relu,batch_norm=True",
    )
    entry = train(config, tmp_path)
    assert manifest.check(entry, "entry") == entry
    assert not [name for name in manifest.FIELDS if entry[name] is None]
    assert entry["tag"].startswith("mnist_autoencoder.mnist_5k_relu_bn-")
    assert entry["arguments"] == {
        "activation": {"name": "relu"},
        "batch_norm": True,
        "input_shape": [28, 28, 1],
        "width": 0.05,
    }
    assert entry["classes"] == []
    keys = "test_loss test_squared_error validation_loss validation_squared_error"
    assert list(entry["metrics"]) == keys.split()
    # An image of zeros for each digit would be wrong by about 100.
    assert 30 < entry["metrics"]["test_squared_error"] < 200
    assert result.find(tmp_path) == entry


def test_the_commit_is_of_the_code_that_ran(smoke, train, tmp_path, monkeypatch):
    """Not of the files as they are when it ends."""
    commits = iter(["first", "second"])
    monkeypatch.setattr(result, "commit", lambda: next(commits))
    assert train(smoke(), tmp_path)["commit"] == "first"


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
    assert len(before) == 1 and result.find(tmp_path) is None

    entry = train(smoke(), tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.glob("*.weights.h5")} == before
    assert list(before) == [entry["tag"] + manifest.SUFFIX]
    assert json.loads((tmp_path / (entry["tag"] + ".json")).read_text()) == entry
    assert result.find(tmp_path) == entry


def test_the_entry_knows_its_command_and_what_it_means(smoke, train, tmp_path):
    entry = train(smoke(), tmp_path, command="elu-zoo-train --config=x")
    assert entry["command"] == "elu-zoo-train --config=x"
    (beside,) = tmp_path.glob("*.weights.h5")
    for name in ("outcome.json", beside.name.replace(".weights.h5", ".json")):
        found = json.loads((tmp_path / name).read_text())
        assert found[manifest.MEANING_HASH] == manifest.meaning_hash(found)
