"""tools/release_weights.py: what it adds to the package, and what it refuses."""

import csv
import json
import types

import published_weights as made_weights
import pytest
from scripts import release_weights

from elu_zoo import errors, files
from elu_zoo.weights import manifest

METRICS = [{"step": 10, "train_loss": 0.9}, {"step": 20, "train_loss": 0.5}]


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
    """The folder of a repository without weights, which the script changes."""
    weights = tmp_path / "repository" / "weights"
    weights.mkdir(parents=True)
    monkeypatch.setattr(release_weights, "_RESULTS", weights.parent / "results.csv")
    monkeypatch.setattr(release_weights, "_WEIGHTS", weights)
    monkeypatch.setattr(release_weights, "_MANIFEST", weights / "manifest.json")
    yield weights.parent
    manifest.published.cache_clear()


def release(monkeypatch, *workdirs, results_only=False):
    # The flag is replaced, because other tests may have removed it.
    flag = types.SimpleNamespace(value=results_only)
    monkeypatch.setattr(release_weights, "_RESULTS_ONLY", flag)
    release_weights.main(["", *map(str, workdirs)])


def names(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_release_adds_a_row_and_weights_once(repository, tmp_path, monkeypatch):
    workdir, weights = tmp_path / "run", repository / "weights"
    entry = finish_run(workdir)
    name = entry["tag"] + manifest.SUFFIX
    release(monkeypatch, workdir, results_only=True)
    assert names(repository) == ["results.csv"]
    for _ in range(2):  # the second time changes nothing
        release(monkeypatch, workdir)
        assert (weights / name).read_bytes() == (workdir / name).read_bytes()
        listed = json.loads((weights / "manifest.json").read_text())["entries"]
        assert listed[entry["tag"]] == entry
        assert manifest.read(weights / f"{entry['tag']}.json") == entry
        rows = csv.DictReader((repository / "results.csv").read_text().splitlines())
        assert [row["sha256"] for row in rows] == [entry["sha256"]]


@pytest.mark.parametrize(
    ("changes", "error", "word"),
    [
        ({"config": {"smoke": True}}, errors.UsageError, "smoke"),
        ({"config_changes": ["after iteration 20: seed: 0 -> 1"]}, errors.UsageError, "config"),
        ({"preprocessing": {"statistics": "mean"}}, errors.UsageError, "statistics"),
    ],
)
def test_runs_that_cannot_be_released_are_refused(
    repository, tmp_path, monkeypatch, changes, error, word
):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    finish_run(whole)
    finish_run(broken, **changes)
    with pytest.raises(error, match=word):
        release(monkeypatch, whole, broken)
    assert names(repository) == []


def test_a_weight_file_of_another_hash_is_not_released(repository, tmp_path, monkeypatch):
    finish_run(tmp_path)
    (path,) = tmp_path.glob("*.weights.h5")
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(errors.CorruptError, match="SHA-256"):
        release(monkeypatch, tmp_path)
    assert names(repository) == []


def test_folders_of_finished_runs_are_required(monkeypatch, tmp_path):
    finish_run(tmp_path / "run")
    with pytest.raises(errors.UsageError, match="finished run"):
        release(monkeypatch, tmp_path / "run", tmp_path)
    with pytest.raises(errors.UsageError, match="Pass"):
        release(monkeypatch)


def test_statistics_in_the_package_are_enough(repository, tmp_path):
    entry = finish_run(tmp_path / "run", preprocessing={"statistics": "mean"})
    (repository / "weights" / "mean.npz").touch()
    release_weights.check_statistics(entry)
