"""The files of a release: written whole, and published in a repository of the hub."""

import hub_stand_in
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.export import release
from elu_zoo.weights import pretrained

TO = "hf:owner/repo"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A stand-in of the hub, with an empty $ELU_ZOO_HOME."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))
    with hub_stand_in.serve(tmp_path / "cache") as hub:
        yield hub


def test_pushed_weights_load_from_the_hub(hub):
    published = pretrained.find("mnist_mlp_8x128", "mnist")
    name = elu_zoo.push_weights(published.path, TO)
    assert name == f"{TO}@{hub_stand_in.COMMIT}"
    assert hub.commits == [f"Release {published.name}"]
    endings = [".json", ".tar.gz", ".weights.h5"]
    assert sorted(hub.files) == ["README.md", *(published.name + end for end in endings)]
    found = pretrained.find("mnist_mlp_8x128", name)
    assert found.entry == published.entry
    models = [elu_zoo.get_model("mnist_mlp_8x128", weights=w) for w in (found, published)]
    for pushed, value in zip(*(model.get_weights() for model in models), strict=True):
        np.testing.assert_array_equal(pushed, value)


@pytest.mark.parametrize(
    ("weights", "to", "error"),
    [
        ("mnist.keras", TO, errors.NotFoundError),
        ("mine.weights.h5", TO, errors.UsageError),
        ("mine.weights.h5", f"{TO}@main", errors.UsageError),
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


def test_an_older_release_is_kept_until_the_new_one_is_written(tmp_path, monkeypatch):
    def fail(entry, new):
        raise OSError("No space")

    monkeypatch.setattr(release.card, "text", lambda *_, **__: "# Card")
    weights, folder = tmp_path / "run.h5", tmp_path / "net"
    for path in (weights, folder / "old"):
        files.write_bytes(path, b"")
    monkeypatch.setattr(release, "_export", fail)
    with pytest.raises(errors.ResourceError, match=f"to {folder}: No space. Pass"):
        release.write(weights, {"tag": "net.a"}, [], folder)
    assert {path.name for path in tmp_path.rglob("*")} == {"run.h5", "net", "old"}
    monkeypatch.setattr(release, "_export", lambda entry, new: None)
    release.write(weights, {"tag": "net.a"}, [], folder)
    written = {path.name for path in tmp_path.rglob("*")}
    assert written == {"run.h5", "net", "README.md", "net.a.weights.h5"}
