"""The files of entries are searched, downloaded, verified and selected by pattern."""

import numpy as np
import published_weights as made_weights
import pytest
from weight_files import CONTENT, NAME, SHA256, entry, present

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.layers import statistics_file
from elu_zoo.weights import fetch, manifest

SOURCE = "hf:owner/repo"


@pytest.fixture
def publish(monkeypatch):
    """A function that replaces the manifest by entries."""

    def publish(*entries):
        table = {entry["tag"]: entry for entry in entries}
        monkeypatch.setattr(manifest, "published", lambda: table)

    return publish


def test_get_model_downloads_missing_weights_once(hub, home, publish, monkeypatch):
    row, content, model = made_weights.make(sources=[SOURCE])
    publish(row)
    name = row["tag"] + manifest.SUFFIX
    hub.files |= {name: content, "other.npz": b""}
    loaded = elu_zoo.get_model(made_weights.MODEL, weights="mnist")
    for value, expected in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected.astype(np.float16))
    with monkeypatch.context() as patch:
        patch.setattr(fetch, "get", lambda file: pytest.fail("downloaded again"))
        assert elu_zoo.get_model(made_weights.MODEL, weights=row["tag"])
    path = home / "weights" / name
    assert present(home) == [f"weights/{name}"]

    path.write_bytes(content[:-1])
    with pytest.raises(errors.CorruptError, match="Delete it"):
        elu_zoo.get_model(made_weights.MODEL, weights="mnist")
    assert elu_zoo.fetch_weights() == [path]
    assert path.read_bytes() == content


def test_a_full_disk_is_an_error_and_leaves_no_file(hub, home, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    hub.files[NAME] = CONTENT
    monkeypatch.setattr(files.os, "fsync", refuse)
    with pytest.raises(errors.ResourceError, match="cannot be written: .*No space.*ELU_ZOO_HOME"):
        fetch.ensure(entry(SOURCE))
    assert present(home) == []


STATISTICS = f"images_zca-{SHA256[:16]}"


@pytest.mark.parametrize("name", [STATISTICS, STATISTICS.replace("zca", "mean")])
def test_statistics_are_downloaded_with_the_weights(hub, home, name):
    hub.files |= {NAME: CONTENT, f"{name}.npz": CONTENT}
    with_statistics = entry(SOURCE, preprocessing={"kind": "x", "statistics": name})
    paths = [home / "weights" / NAME, home / "statistics" / f"{name}.npz"]
    assert fetch.ensure(with_statistics) == paths
    assert [p.read_bytes() for p in paths] == [CONTENT] * 2
    assert statistics_file.find(name, name[7:].partition("-")[0]) == paths[1]


def test_a_pattern_selects_weights_with_their_statistics(hub, home, publish):
    with_statistics = {"preprocessing": {"statistics": STATISTICS}}
    publish(
        entry(SOURCE, tag="net.b", **with_statistics),
        entry(SOURCE, tag="net.a", **with_statistics),
        entry(SOURCE, tag="bad.a"),
        entry(tag="bad.b"),
    )
    names = ["net.a.weights.h5", "net.b.weights.h5", f"{STATISTICS}.npz"]
    hub.files |= {**dict.fromkeys(names, CONTENT), "bad.a.weights.h5": CONTENT[:-9]}
    folders = [home / "weights"] * 2 + [home / "statistics"]
    expected = [folder / name for folder, name in zip(folders, names, strict=True)]
    assert elu_zoo.fetch_weights("net.*") == expected
    with pytest.raises(errors.ResourceError, match="bad.a.*SHA-256"):
        elu_zoo.fetch_weights()
    with pytest.raises(errors.NotFoundError, match="bad.b.weights.h5 is neither"):
        elu_zoo.fetch_weights("bad.b")


def test_a_damaged_file_of_the_package_is_refused(publish, tmp_path, monkeypatch):
    publish(entry(SOURCE))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / NAME).write_bytes(b"?")
    monkeypatch.setattr(fetch.resources, "files", lambda name: tmp_path)
    with pytest.raises(errors.CorruptError, match="damaged or.* again"):
        elu_zoo.fetch_weights()


def test_parts_of_a_large_file_are_joined(home, publish, tmp_path, monkeypatch):
    publish(entry())
    for i, part in enumerate((CONTENT[:9], CONTENT[9:]), 1):
        files.write_bytes(tmp_path / "large" / f"{NAME}.part{i}", part)
    monkeypatch.setattr(fetch.resources, "files", lambda name: tmp_path)
    (path,) = fetch.ensure(entry())
    for _ in range(2):
        assert path == home / "weights" / NAME and path.read_bytes() == CONTENT
        path.write_bytes(b"?")
        assert elu_zoo.fetch_weights() == [path]


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("hf:owner/absent", "was not read"),
        (f"{SOURCE}@{'b' * 40}", "was not read"),
        ("https://host/folder", "is named hf:"),
    ],
)
def test_after_a_bad_source_the_next_one_is_used(hub, home, source, word):
    with pytest.raises(errors.ResourceError, match=word) as caught:
        fetch.ensure(entry(source))
    message = str(caught.value)
    assert message.isprintable() and f"{source}: " in message and SHA256 in message
    assert present(home) == []
    hub.files[NAME] = CONTENT
    (path,) = fetch.ensure(entry(source, SOURCE))
    assert path.read_bytes() == CONTENT and present(home) == [f"weights/{NAME}"]
