"""tools/release_weights.py: finished runs become rows of results, and weights."""

import csv
import json

import pytest
from scripts import TOOLS, release_weights

from elu_zoo import errors, files, results
from elu_zoo.weights import manifest


def entry(sha256="a" * 64, seed=0, smoke=False):
    arguments = {"activation": {"name": "elu", "alpha": 1.0}, "batch_norm": False}
    content = b"weights"
    return {
        **dict.fromkeys(manifest.FIELDS),
        "format": manifest.FORMAT,
        "tag": manifest.tag("mnist_mlp_8x128", "mnist", arguments, sha256),
        "model": "mnist_mlp_8x128",
        "dataset": "mnist",
        "arguments": arguments,
        "preprocessing": {},
        "classes": [],
        "sha256": sha256,
        "bytes": len(content),
        "config": {"name": "mnist_mlp_8x128", "smoke": smoke},
        "schedule": "paper",
        "schedule_share": 1.0,
        "epochs": 300,
        "seed": seed,
        "step": 20,
        "metrics": {
            "test_error_percent": 2.5 + seed,
            "test_loss": 0.1,
            "validation_error_percent": 2.0,
            "validation_loss": 0.2,
        },
        "wall_time_seconds": 120.0,
    }


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Points the scripts at an empty repository."""
    monkeypatch.setattr(release_weights, "_RESULTS", tmp_path / "results.csv")
    monkeypatch.setattr(release_weights, "_WEIGHTS", tmp_path / "weights")
    (tmp_path / "weights").mkdir()
    return tmp_path


def workdir(folder, made):
    """Makes the folder of a finished run with this entry."""
    folder.mkdir()
    rows = [{"step": 10, "train_loss": 0.9}, {"step": 20, "train_loss": 0.5}]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metrics.jsonl").write_text(text)
    (folder / (made["tag"] + manifest.SUFFIX)).write_bytes(b"weights")
    return folder


def test_a_row_holds_the_last_training_loss_and_the_config_name(repository):
    folder = workdir(repository / "run", entry())
    row = results.row(folder, entry())
    of_images = {"validation_squared_error", "test_squared_error"}
    assert set(row) == set(results.COLUMNS) - of_images
    assert (row["train_loss"], row["config"]) == (0.5, "mnist_mlp_8x128")
    assert (row["test_error_percent"], row["steps"]) == (2.5, 20)


def test_rows_are_sorted_by_seed_and_a_run_is_added_once(repository):
    folder = workdir(repository / "run", entry())
    for seed, sha256 in ((1, "b" * 64), (0, "a" * 64), (1, "b" * 64)):
        results.add(release_weights._RESULTS, results.row(folder, entry(sha256, seed)))
    rows = list(csv.DictReader((repository / "results.csv").read_text().splitlines()))
    assert [row["seed"] for row in rows] == ["0", "1"]


def test_shipping_copies_the_file_and_lists_it(repository):
    made = entry()
    release_weights.ship(workdir(repository / "run", made), made)
    weights = repository / "weights"
    assert (weights / (made["tag"] + manifest.SUFFIX)).read_bytes() == b"weights"
    listed = json.loads((weights / "manifest.json").read_text())["entries"]
    assert listed[made["tag"]] == manifest.read(weights / f"{made['tag']}.json")


def test_smoke_runs_and_too_many_bytes_are_refused(repository, monkeypatch):
    smoke = entry(smoke=True)
    folder = workdir(repository / "run", smoke)
    with pytest.raises(errors.UsageError, match="smoke"):
        release_weights.ship(folder, smoke)
    monkeypatch.setattr(release_weights, "_LIMIT_BYTES", 6)
    with pytest.raises(errors.ResourceError, match="7 bytes.*6 is the limit"):
        release_weights.ship(folder, entry())
    assert list((repository / "weights").iterdir()) == []


def test_statistics_ship_with_the_weights_that_name_them(repository):
    made = entry()
    made["preprocessing"] = {"kind": "gcn_zca", "statistics": "images_zca-0"}
    folder = workdir(repository / "run", made)
    with pytest.raises(errors.UsageError, match="images_zca-0, which do not"):
        release_weights.ship(folder, made)
    (repository / "weights" / "images_zca-0.npz").touch()
    release_weights.ship(folder, made)
    assert (repository / "weights" / (made["tag"] + manifest.SUFFIX)).is_file()


def test_a_row_of_an_autoencoder_leaves_the_error_open(repository):
    images = entry()
    images["metrics"] = {"test_squared_error": 4.1, "test_loss": 60.0}
    folder = workdir(repository / "run", images)
    results.add(release_weights._RESULTS, results.row(folder, images))
    (row,) = csv.DictReader((repository / "results.csv").read_text().splitlines())
    assert (row["test_squared_error"], row["test_error_percent"]) == ("4.1", "")


def test_every_shipped_file_has_its_row_in_the_results():
    text = (TOOLS.parent / "configs/results/results.csv").read_text()
    rows = {row["sha256"]: row for row in csv.DictReader(text.splitlines())}
    for shipped in manifest.published().values():
        row = rows[shipped["sha256"]]
        for name, value in shipped["metrics"].items():
            assert float(row[name]) == value
        assert row["commit"] == shipped["commit"]


def test_files_are_written_whole(repository, monkeypatch):
    folder = workdir(repository / "run", entry())
    results.add(release_weights._RESULTS, results.row(folder, entry()))
    before = (repository / "results.csv").read_bytes()

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        results.add(release_weights._RESULTS, results.row(folder, entry("c" * 64, 2)))
    assert (repository / "results.csv").read_bytes() == before
