"""Results of finished runs: outcome.json, the weight file and the entry beside it."""

import itertools
import json
import os
import shutil
import subprocess
import types

import pytest

import elu_zoo
from elu_zoo import errors, files, registry
from elu_zoo.training import result
from elu_zoo.weights import card, manifest


def test_a_damaged_outcome_is_refused(tmp_path):
    assert result.find(tmp_path) is None
    (tmp_path / "outcome.json").write_text("{")
    with pytest.raises(errors.CorruptError, match="JSON"):
        result.find(tmp_path)


def test_a_final_measure_that_is_no_number_ends_the_run():
    run = types.SimpleNamespace(data=types.SimpleNamespace(test=()), validation=None)
    run.evaluator = lambda split, check: {"loss": float("inf")}
    with pytest.raises(errors.TrainingError, match="test_loss.*inf"):
        result._metrics(run, True, print)


@pytest.mark.parametrize(
    ("is_tracked", "expected"), [(True, "0123456789ab"), (False, f"release {elu_zoo.__version__}")]
)
def test_commit_names_the_revision_or_the_release(monkeypatch, is_tracked, expected):
    def run(command, **_):
        kind = command[3]
        if kind == "ls-files" and not is_tracked:
            raise subprocess.CalledProcessError(128, command)
        text = {"describe": "0123456789ab\n"}.get(kind, "")
        return subprocess.CompletedProcess(command, 0, stdout=text)

    monkeypatch.setattr(subprocess, "run", run)
    assert result.commit() == expected


def test_the_entry_of_a_classifier_describes_the_run(smoke, train, tmp_path, monkeypatch):
    commits = iter(["first", "second"])
    monkeypatch.setattr(result, "commit", lambda: next(commits))
    entry = train(smoke(), tmp_path, command="elu-zoo-train --config=x")
    assert (entry["command"], entry["commit"]) == ("elu-zoo-train --config=x", "first")
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
        "hidden_layers": 2,
        "num_classes": 10,
    }
    assert entry["classes"] == [str(digit) for digit in range(10)]
    assert entry["examples"] == {"train": 640, "validation": 500, "test": 1000}
    units = [784, 32, 32, 10]
    macs = sum(a * b for a, b in itertools.pairwise(units))
    assert entry["multiply_accumulates"] == macs
    assert card.text(entry, []).startswith(f"# {entry['tag']}")
    tested, validated = (
        {name.removeprefix(split) for name in entry["metrics"] if name.startswith(split)}
        for split in ("test_", "validation_")
    )
    assert {"loss", "error_percent"} <= tested == validated


def test_the_entry_of_an_autoencoder_has_no_classes(smoke, train, tmp_path):
    config = smoke(
        {
            "model.name": "mnist_autoencoder",
            "model.width": 0.05,
            "train.loss": "sigmoid_cross_entropy",
            "train.learning_rates": (0.001,),
            "train.epochs": 1,
            "data.train_on_validation": True,
            "data.train_examples": 0,
        },
        "activation=relu,batch_norm=True",
    )
    entry = train(config, tmp_path)
    assert manifest.check(entry, "entry") == entry
    assert entry["tag"].startswith("mnist_autoencoder.mnist_5k_relu_bn-")
    assert "num_classes" not in entry["arguments"] and entry["classes"] == []
    assert entry["examples"] == {"train": 4000, "validation": 0, "test": 1000}
    assert "test_loss" in entry["metrics"]
    assert all(name.startswith("test_") for name in entry["metrics"])
    # The squared error of black images is about 100.
    assert 30 < entry["metrics"]["test_squared_error"] < 200
    assert result.find(tmp_path) == entry


def test_published_entries_record_the_arguments_that_act_after_training():
    for entry in manifest.published().values():
        network = registry.entry(entry["model"])
        fields = set(entry["config"]["model"]) - {"name", "weights", *network.training_only}
        assert fields <= entry["arguments"].keys() <= {*network.parameters}, entry["tag"]
        assert entry["arguments"].keys().isdisjoint(network.training_only), entry["tag"]


def test_missing_weights_or_outcome_are_written_again(smoke, train, tmp_path, monkeypatch, caplog):
    write_json = files.write_json

    def killed(path, value):
        if path.name == "outcome.json":
            raise KeyboardInterrupt
        write_json(path, value)

    monkeypatch.setattr(files, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        train(smoke(), tmp_path)
    monkeypatch.setattr(files, "write_json", write_json)
    (path,) = tmp_path.glob("*.weights.h5")
    content = path.read_bytes()
    assert result.find(tmp_path) is None
    entry = train(smoke(), tmp_path)
    assert path.read_bytes() == content and path.name == entry["tag"] + manifest.SUFFIX
    assert result.find(tmp_path) == entry

    path.unlink()
    assert train(smoke(), tmp_path)["sha256"] == entry["sha256"]
    assert path.read_bytes() == content
    assert f"{path} is missing" in caplog.text
    path.unlink()
    shutil.rmtree(tmp_path / "checkpoints")
    with pytest.raises(errors.CorruptError, match="is missing"):
        train(smoke(), tmp_path)
