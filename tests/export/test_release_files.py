"""The files of a release replace an older release when all of them are written."""

import pytest

from elu_zoo import errors, files
from elu_zoo.export import release


def test_an_older_release_is_kept_until_the_new_one_is_written(tmp_path, monkeypatch):
    def fail(entry, new):
        raise OSError("No space")

    monkeypatch.setattr(release.cards, "text", lambda *_, **__: "# Card")
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
