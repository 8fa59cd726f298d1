"""tools/release_weights.py: files of releases, refused runs, and changes by --push."""

import csv
import gzip
import json
import os
import re
import tarfile
import types

import numpy as np
import published_weights as made_weights
import pytest
from scripts import TOOLS, release_weights

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.export import release
from elu_zoo.export.saved_model import load_saved_model
from elu_zoo.weights import manifest

# The defaults are read at import, because other tests remove the flags.
DEFAULTS = {
    name: getattr(release_weights, f"_{name.upper()}").default
    for name in ("results_only", "push", "output")
}
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


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder and the entry of a finished run. Tests must not change the folder."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, finish_run(folder)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The folder of a repository without weights, which the script changes."""
    weights = tmp_path / "repository" / "weights"
    weights.mkdir(parents=True)
    monkeypatch.setattr(release_weights, "_RESULTS", weights.parent / "results.csv")
    monkeypatch.setattr(release_weights, "_WEIGHTS", weights)
    yield weights.parent
    manifest.published.cache_clear()


def tree(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def entries(repository):
    return json.loads((repository / "weights" / "manifest.json").read_text())["entries"]


def rows(repository):
    return list(csv.DictReader((repository / "results.csv").read_text().splitlines()))


def test_a_dry_run_writes_files_outside_the_package_only(run, repository, tmp_path):
    workdir, entry = run
    lines = release_weights.release({workdir: entry}, tmp_path / "o", False)
    assert tree(repository) == {}
    tag = entry["tag"]
    folder = tmp_path / "o" / tag
    names = ["README.md", f"{tag}.json", f"{tag}.tar.gz", f"{tag}.weights.h5"]
    assert sorted(tree(folder)) == names
    assert (folder / names[3]).read_bytes() == (workdir / names[3]).read_bytes()
    assert manifest.read(folder / names[1]) == entry
    card = (folder / "README.md").read_text()
    assert (
        card.startswith("---\n") and '"license": "apache-2.0"' in card and entry["sha256"] in card
    )
    assert [re.sub(r"\d+ bytes", "N bytes", line) for line in lines[1:]] == [
        f"  {folder}: {', '.join(names)}",
        "  configs/results/results.csv: a new row",
        f"  elu_zoo/weights: {names[3]}, N bytes",
        f"  elu_zoo/weights/manifest.json: lists {tag}",
        "This was a dry run; --push makes the changes.",
    ]

    with tarfile.open(folder / names[2]) as tar:
        members = tar.getmembers()
        # The first releases of Python 3.11 have no filters; later releases warn without
        # a filter.
        options = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(tmp_path / "unpacked", **options)
    assert {m.name.split("/")[0] for m in members} == {entry["model"]}
    loaded = load_saved_model(tmp_path / "unpacked" / entry["model"])
    images = np.random.default_rng(0).integers(0, 256, (3, 28, 28, 1))
    model = elu_zoo.get_model(entry["model"], weights=workdir)
    expected = model(images.astype("float32"))
    logits = loaded.predict(images)["logits"]
    np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-5)
    assert loaded.class_names == tuple(entry["classes"])


def test_an_archive_is_reproducible(tmp_path):
    contents = {"b/1/x.pb": b"x" * 9000, "b/1/variables/y": b"", "a": b"z"}
    archives = []
    for number, names in enumerate((list(contents), list(contents)[::-1])):
        folder = tmp_path / str(number)
        for name in names:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents[name])
            path.chmod(0o600 + number)
            os.utime(path, (number * 1e6, number * 1e6))
        target = tmp_path / f"{number}.tar.gz"
        release.archive(folder, target)
        archives.append(target.read_bytes())
    assert archives[0] == archives[1]
    assert archives[0][4:8] == bytes(4)  # the time in the gzip header
    with tarfile.open(tmp_path / "0.tar.gz") as tar:
        members = tar.getmembers()
        unpacked = {m.name: tar.extractfile(m).read() for m in members if m.isfile()}
    assert unpacked == contents
    names = ["a", "b", "b/1", "b/1/variables", "b/1/variables/y", "b/1/x.pb"]
    assert [m.name for m in members] == names
    owners = {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members}
    assert owners == {(0, 0, 0, "", "")}
    assert {m.mode for m in members if m.isfile()} == {0o644}
    assert gzip.decompress(archives[0])[257:262] == b"ustar"


@pytest.fixture
def cheap(monkeypatch):
    """Replaces the export of a release by small files, to save time."""

    def write(weights, entry, rows, folder):
        made_weights.write(folder, entry, weights.read_bytes())
        (folder / "README.md").write_text("card")

    monkeypatch.setattr(release_weights.export_release, "write", write)


def test_a_push_adds_weights_to_the_package_once(run, repository, tmp_path, cheap):
    workdir, entry = run
    for _ in range(2):  # the second time changes nothing
        release_weights.release({workdir: entry}, tmp_path / "o", True)
        name = entry["tag"] + manifest.SUFFIX
        weights = repository / "weights"
        assert (weights / name).read_bytes() == (workdir / name).read_bytes()
        assert entries(repository)[entry["tag"]] == entry
        assert manifest.read(weights / f"{entry['tag']}.json") == entry
        assert [row["sha256"] for row in rows(repository)] == [entry["sha256"]]


def test_statistics_outside_the_package_are_refused(repository, tmp_path):
    name = f"images_mean-{'0' * 16}"
    described = {"kind": "mean_crop", "statistics": name}
    entry = finish_run(tmp_path / "run", preprocessing=described)
    with pytest.raises(errors.UsageError, match=f"{name}, which the package does not have"):
        release_weights.check({tmp_path / "run": entry})
    (repository / "weights" / f"{name}.npz").touch()
    release_weights.check({tmp_path / "run": entry})


def test_runs_that_cannot_be_reproduced_are_refused(run):
    workdir, entry = run
    smoke = {**entry, "config": {**entry["config"], "smoke": True}}
    with pytest.raises(errors.UsageError, match="is a smoke run"):
        release_weights.check({workdir: smoke})
    changed = {**entry, "config_changes": ["after iteration 20: seed: 0 -> 1"]}
    with pytest.raises(errors.UsageError, match="config of .* changed during the run"):
        release_weights.check({workdir: changed})
    with pytest.raises(errors.CorruptError, match="h5 is damaged: its SHA-256 is not"):
        release_weights.check({workdir: {**entry, "sha256": "0" * 64}})


@pytest.fixture
def script(monkeypatch, tmp_path, capsys):
    """A function that runs the script with values for its flags.

    The flags are replaced, because other tests may have removed them.
    """

    def script(*workdirs, **values):
        for name, default in DEFAULTS.items():
            value = types.SimpleNamespace(value=values.get(name, default))
            monkeypatch.setattr(release_weights, f"_{name.upper()}", value)
        release_weights.main(["", *map(str, workdirs)])
        return capsys.readouterr().out

    return script


def test_folders_of_finished_runs_are_required(script, run, tmp_path):
    with pytest.raises(errors.UsageError, match="is not the folder of a finished run"):
        script(run[0], tmp_path)
    with pytest.raises(errors.UsageError, match="Pass the folders"):
        script()


def test_flags_select_the_changes(script, run, repository, tmp_path, cheap):
    (workdir, entry), output = run, tmp_path / "o"
    assert script(workdir, output=output).endswith("--push makes the changes.\n")
    finish_run(tmp_path / "smoke", config={**entry["config"], "smoke": True})
    with pytest.raises(errors.UsageError, match="is a smoke run"):
        script(workdir, tmp_path / "smoke", results_only=True)
    assert tree(repository) == {} and len(tree(output)) == 3
    out = script(workdir, results_only=True)
    assert out.startswith(f"{entry['tag']}: error ") and len(out.splitlines()) == 1
    assert list(tree(repository)) == ["results.csv"]
    script(workdir, output=output, push=True)
    assert (repository / "weights" / (entry["tag"] + manifest.SUFFIX)).is_file()
    assert len(rows(repository)) == 1


def test_a_release_is_a_dry_run_into_the_package_by_default():
    root = TOOLS.parent
    assert DEFAULTS == {
        "results_only": False,
        "push": False,
        "output": str(root / "dist" / "weights"),
    }
    assert "/dist/" in (root / ".gitignore").read_text().splitlines()
