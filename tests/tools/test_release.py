"""tools/release_weights.py: what it adds and measures, and what it refuses."""

import json
import types
from unittest import mock

import published_weights as made_weights
import pytest
from scripts import release_weights

from elu_zoo import errors, files, results
from elu_zoo.data.dataset import ImageData
from elu_zoo.weights import manifest, measures

METRICS = [{"step": 10, "train_loss": 0.9}, {"step": 20, "train_loss": 0.5}]
ROW = dict.fromkeys(measures.COLUMNS, "1")
FIRST, SECOND, *_ = (tag for tag in manifest.list_weights() if manifest.published()[tag]["classes"])
CALIBRATION = {"nll_nats": 1.0, "ece_percent": 2.0, "temperature": 1.5, "temperature_source": "x"}


def finish_run(folder, **changes):
    """Writes the folder of a finished run of a small network; returns the entry."""
    made, content, _ = made_weights.make()
    fields = "tag model arguments sha256 bytes parameters".split()
    others = (e for e in manifest.published().values() if e["model"] == made["model"])
    entry = {**next(others), **{k: made[k] for k in fields}, "sources": [], **changes}
    entry[manifest.MEANING_HASH] = manifest.meaning_hash(entry)
    made_weights.write(folder, entry, content)
    files.write_json(folder / "outcome.json", entry)
    text = "".join(json.dumps(row) + "\n" for row in METRICS)
    (folder / "metrics.jsonl").write_text(text)
    return entry


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository without weights; FIRST has outputs, and stale rows of changed images."""
    root = tmp_path / "repository"
    (root / "files").mkdir(parents=True)
    for name, value in {
        "_RESULTS": root,
        "_WEIGHTS": root,
        "_GOLDEN": root / "golden.json",
        "_TWIN": types.SimpleNamespace(value=None),
        "outputs": lambda entry: [[2.0]],
        "_evaluator": lambda entry, weights: None,
        "calibrated": lambda *arguments: CALIBRATION,
        "changed": lambda entry, *rest: [ROW | {"tag": entry["tag"], "error_percent": "2"}],
    }.items():
        monkeypatch.setattr(release_weights, name, value)
    monkeypatch.setattr(release_weights.load, "load", lambda name: mock.Mock(spec=ImageData))
    files.write_json(root / "golden.json", {FIRST: [[1.0]]})
    rows = [ROW | {"tag": tag} for tag in (SECOND, "unpublished", FIRST)]
    results.write(root / "image_changes.csv", measures.COLUMNS, rows)
    yield root
    manifest.published.cache_clear()


def release(monkeypatch, *names, results_only=False):
    # The flag is replaced, because other tests may have removed it.
    flag = types.SimpleNamespace(value=results_only)
    monkeypatch.setattr(release_weights, "_RESULTS_ONLY", flag)
    release_weights.main(["", *map(str, names)])


def read(path):
    return json.loads(path.read_text())


@pytest.mark.parametrize("parts", [1, 2])
def test_a_release_adds_a_row_weights_and_measures_once(repository, tmp_path, monkeypatch, parts):
    workdir, table = tmp_path / "run", {tag: {} for tag in manifest.list_weights()}
    entry = finish_run(workdir)
    tag, name = entry["tag"], entry["tag"] + manifest.SUFFIX
    monkeypatch.setattr(release_weights, "_LARGE", [entry["model"]] * (parts - 1))
    monkeypatch.setattr(release_weights, "_PART_BYTES", entry["bytes"] - 1)
    release(monkeypatch, workdir, results_only=True)
    assert [r["sha256"] for r in results.read_file(repository / "results.csv")] == [entry["sha256"]]
    assert not (repository / "manifest.json").exists()
    listed = {**manifest.published(), tag: entry}
    monkeypatch.setattr(manifest, "published", mock.Mock(return_value=listed))
    for _ in range(2):  # the second time changes nothing
        release(monkeypatch, workdir)
        found = sorted((repository / ["files", "large"][parts - 1]).glob(f"{name}*"))
        content = b"".join(path.read_bytes() for path in found)
        assert len(found) == parts and content == (workdir / name).read_bytes()
        stored = read(repository / "manifest.json")["entries"]
        assert stored.keys() == {*table, tag} and stored[tag]["calibration"] == CALIBRATION
        assert read(found[0].with_name(f"{tag}.json")) == stored[tag]
        assert len(results.read_file(repository / "results.csv")) == 1
        assert read(repository / "golden.json") == {FIRST: [[1.0]], tag: [[2.0]]}


def test_outputs_stay_and_other_measures_are_new(repository, monkeypatch):
    release(monkeypatch, FIRST)
    assert read(repository / "golden.json") == {FIRST: [[1.0]]}
    rows = results.read_file(repository / "image_changes.csv")
    assert [(r["tag"], r["error_percent"]) for r in rows] == [(FIRST, "2"), (SECOND, "1")]
    listed = read(repository / "manifest.json")["entries"]
    assert listed.keys() == {*manifest.published()}
    assert listed[FIRST]["calibration"] == CALIBRATION


def test_a_run_of_today_is_the_twin_of_an_older_file(repository, monkeypatch):
    entry = manifest.published()["elu_cifar_11.cifar100_elu-8cb788cb"]
    config = entry["config"]
    assert "warmup" not in config["train"]
    config = {**config, "train": {**config["train"], "warmup": 0.0}}
    config["data"] = {**config["data"], "train_on_validation": False}
    twin = {**entry, "config": config, "examples": {"validation": 5000}}
    calibrated = mock.Mock(return_value=CALIBRATION)
    monkeypatch.setattr(release_weights, "calibrated", calibrated)
    monkeypatch.setattr(release_weights._TWIN, "value", "twin")
    monkeypatch.setattr(release_weights.result, "find", lambda path: twin)
    release(monkeypatch, entry["tag"])
    assert calibrated.call_args.args[-1] is twin
    with pytest.raises(errors.UsageError, match="--twin"):
        release(monkeypatch, "elu_cifar_11.cifar100_relu-dffc5b0f")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"config": {"smoke": True, "train": {"loss": "squared_hinge"}}}, "smoke"),
        ({"config_changes": ["after iteration 20: seed: 0 -> 1"]}, "config"),
        ({"command": "elu-zoo-train --config=net --config.model.padding=same"}, "padding"),
        ({"metrics": {"test_loss": 0.1}}, "error"),
        ({"preprocessing": {"kind": "mean", "statistics": "x"}}, "statistics"),
    ],
)
def test_runs_that_cannot_be_released_are_refused(repository, tmp_path, monkeypatch, changes, word):
    finish_run(tmp_path / "whole")
    finish_run(tmp_path / "broken", **changes)
    with pytest.raises(errors.UsageError, match=word):
        release(monkeypatch, tmp_path / "whole", tmp_path / "broken")
    assert not (repository / "results.csv").exists()


def test_a_weight_file_of_another_hash_is_not_released(repository, tmp_path, monkeypatch):
    finish_run(tmp_path)
    (path,) = tmp_path.glob("*.weights.h5")
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(errors.CorruptError, match="SHA-256"):
        release(monkeypatch, tmp_path)


def test_wrong_arguments_are_refused_before_a_measurement(repository, monkeypatch, tmp_path):
    monkeypatch.setattr(release_weights, "outputs", None)  # a call would raise TypeError
    for names, words in (
        ([tmp_path], "finished run"),
        ([], "Pass"),
        ([FIRST, FIRST[:-1]], f"Did you mean '{FIRST}'"),
    ):
        with pytest.raises(errors.UsageError, match=words):
            release(monkeypatch, *names)
    monkeypatch.setattr(release_weights._TWIN, "value", str(tmp_path))
    with pytest.raises(errors.UsageError, match="--twin"):
        release(monkeypatch, FIRST)
