"""The files of a release, published in a repository of the hub."""

import io
import os
import tarfile

import hub_stand_in
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.export import release
from elu_zoo.export.saved_model import load_saved_model
from elu_zoo.weights import manifest, pretrained

TO = "hf:owner/repo"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A stand-in of the hub, with an empty $ELU_ZOO_HOME."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))
    with hub_stand_in.serve(tmp_path / "cache") as hub:
        yield hub


@pytest.mark.slow
def test_pushed_weights_load_from_the_hub(hub, tmp_path, monkeypatch):
    published = pretrained.find("mnist_mlp_8x128", "mnist")
    # Those of an earlier run make room, others stay.
    hub.files |= dict.fromkeys(("old.weights.h5", "old.json", "notes.txt"), b"old")
    with monkeypatch.context() as patch:  # as of a user's run
        patch.setattr(manifest, "published", dict)
        name = elu_zoo.push_weights(published.path, TO)
    assert name == f"{TO}@{hub_stand_in.COMMIT}"
    assert hub.commits == [f"Release {published.name}"]
    endings = [".json", ".tar.gz", ".weights.h5"]
    own = [published.name + end for end in endings]
    assert sorted(hub.files) == sorted(["README.md", "notes.txt", *own])
    found = pretrained.find("mnist_mlp_8x128", name)
    assert found.entry == published.entry
    models = [elu_zoo.get_model("mnist_mlp_8x128", weights=w) for w in (found, published)]
    for pushed, value in zip(*(model.get_weights() for model in models), strict=True):
        np.testing.assert_array_equal(pushed, value)
    shown = hub.files["README.md"].decode()
    assert published.entry["sha256"] in shown and f'weights = "{TO}"' in shown
    assert "\nlicense:" not in shown and "| licence |" not in shown
    with tarfile.open(fileobj=io.BytesIO(hub.files[published.name + ".tar.gz"])) as tar:
        # The first releases of Python 3.11 have no filters; later releases warn without
        # a filter.
        options = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(tmp_path / "unpacked", **options)
    loaded = load_saved_model(tmp_path / "unpacked" / "mnist_mlp_8x128")
    images = np.random.default_rng(0).integers(0, 256, (3, 28, 28, 1))
    expected = models[0](images.astype("float32"))
    np.testing.assert_allclose(loaded.predict(images)["logits"], expected, rtol=1e-5, atol=1e-5)


def test_an_archive_is_reproducible(tmp_path):
    archives = []
    for number, names in enumerate((["b/1/x.pb", "a"], ["a", "b/1/x.pb"])):
        folder, target = tmp_path / str(number), tmp_path / f"{number}.tar.gz"
        for name in names:
            files.write_bytes(folder / name, b"x" * 9000)
            (folder / name).chmod(0o600 + number)
            os.utime(folder / name, (number * 1e6, number * 1e6))
        release.archive(folder, target)
        archives.append(target.read_bytes())
    assert archives[0] == archives[1]
    with tarfile.open(tmp_path / "0.tar.gz") as tar:
        assert tar.getnames() == ["a", "b", "b/1", "b/1/x.pb"]


@pytest.mark.parametrize(
    ("weights", "to", "error"),
    [
        ("mnist.keras", TO, errors.NotFoundError),
        ("mine.weights.h5", TO, errors.UsageError),
        (None, f"{TO}@main", errors.UsageError),
        (None, TO, errors.ResourceError),  # refused by the hub
    ],
)
def test_what_cannot_be_pushed_is_refused(hub, tmp_path, monkeypatch, weights, to, error):
    (tmp_path / "mine.weights.h5").write_bytes(b"x")
    monkeypatch.setenv("HF_TOKEN", "another")
    monkeypatch.setattr(release, "_export", lambda entry, new: None)
    path = tmp_path / weights if weights else pretrained.find("mnist_mlp_8x128", "mnist").path
    with pytest.raises(error, match="[Rr]epository|no file|entry|HF_TOKEN"):
        elu_zoo.push_weights(path, to)
    assert hub.commits == []


def test_the_weights_of_a_smoke_run_are_not_pushed(hub, monkeypatch):
    entry = {"config": {"smoke": True}}
    monkeypatch.setattr(release.local, "with_entry", lambda path: (path, entry))
    with pytest.raises(errors.UsageError, match="smoke run"):
        elu_zoo.push_weights("run", TO)
    assert hub.commits == []
