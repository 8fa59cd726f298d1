"""Results of finished runs: outcome.json, the weight file and the entry beside it."""

import itertools
import json
import os
import shutil
import subprocess

import pytest

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.training import result
from elu_zoo.weights import cards, manifest


@pytest.mark.parametrize("text, words", [("{", "is not JSON"), ('{"format": 1}', "lacks")])
def test_a_damaged_outcome_is_refused(tmp_path, text, words):
    assert result.find(tmp_path) is None
    (tmp_path / "outcome.json").write_text(text)
    with pytest.raises(errors.CorruptError, match=words):
        result.find(tmp_path)


@pytest.fixture
def git(monkeypatch):
    """A function that replaces git by a fake repository."""

    def fake(*, tracked=True, changed="", found=True):
        def run(command, **_):
            kind = command[3]
            if not found or (kind == "ls-files" and not tracked):
                raise subprocess.CalledProcessError(128, command)
            text = {"rev-parse": "0123456789ab\n", "status": changed}.get(kind, "")
            return subprocess.CompletedProcess(command, 0, stdout=text)

        monkeypatch.setattr(subprocess, "run", run)

    return fake


@pytest.mark.parametrize(
    "repository, expected",
    [
        ({}, "0123456789ab"),
        ({"changed": " M file.py\n"}, "0123456789ab+"),
        ({"tracked": False}, f"release {elu_zoo.__version__}"),
        ({"found": False}, f"release {elu_zoo.__version__}"),
    ],
)
def test_commit_names_the_revision_or_the_release(git, repository, expected):
    git(**repository)
    assert result.commit() == expected


def test_the_entry_of_a_classifier_describes_the_run(smoke, train, tmp_path):
    entry = train(smoke(), tmp_path, command="elu-zoo-train --config=x")
    assert entry["command"] == "elu-zoo-train --config=x"
    (weights,) = tmp_path.glob("*.weights.h5")
    for name in ("outcome.json", weights.name.replace(".weights.h5", ".json")):
        stored = json.loads((tmp_path / name).read_text())
        assert stored[manifest.MEANING_HASH] == manifest.meaning_hash(stored)
    assert entry["hardware"].endswith(f", {os.cpu_count()} cores")
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


def test_a_missing_weight_file_is_written_or_refused(smoke, train, tmp_path, caplog):
    entry = train(smoke(), tmp_path)
    path = tmp_path / (entry["tag"] + manifest.SUFFIX)
    content = path.read_bytes()
    path.unlink()
    assert train(smoke(), tmp_path)["sha256"] == entry["sha256"]
    assert path.read_bytes() == content
    assert f"The weight file {path} is missing. The file will be" in caplog.text

    path.unlink()
    shutil.rmtree(tmp_path / "checkpoints")
    words = f"{path} of the finished run is missing, .* or delete {tmp_path} to train"
    with pytest.raises(errors.CorruptError, match=words):
        train(smoke(), tmp_path)


def test_train_on_validation_adds_to_the_recorded_examples(smoke, train, tmp_path):
    changes = {"data.train_on_validation": True, "data.train_examples": 0}
    entry = train(smoke({**changes, "train.epochs": 1}), tmp_path)
    assert entry["examples"] == {"train": 4000, "validation": 0, "test": 1000}


def test_the_entry_of_an_autoencoder_has_no_classes(smoke, train, tmp_path):
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
    # The squared error of black images is about 100.
    assert 30 < entry["metrics"]["test_squared_error"] < 200
    assert result.find(tmp_path) == entry


def test_the_commit_is_read_once_at_the_start(smoke, train, tmp_path, monkeypatch):
    commits = iter(["first", "second"])
    monkeypatch.setattr(result, "commit", lambda: next(commits))
    assert train(smoke(), tmp_path)["commit"] == "first"


def test_a_run_killed_before_it_writes_the_outcome_writes_the_same_weights_again(
    smoke, train, tmp_path, monkeypatch
):
    write_json = files.write_json

    def killed(path, value):
        if path.name == "outcome.json":
            raise KeyboardInterrupt
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
