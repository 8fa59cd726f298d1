"""The files of entries are searched, downloaded, verified and selected by pattern."""

import hub_stand_in
import numpy as np
import published_weights as made_weights
import pytest
from file_sources import CONTENT, NAME, SHA256, Handler, entry, present

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.layers import statistics_file
from elu_zoo.weights import fetch, manifest


@pytest.fixture
def publish(monkeypatch):
    """A function that replaces the manifest by entries and returns the first entry."""

    def publish(*entries):
        table = {entry["tag"]: entry for entry in entries}
        monkeypatch.setattr(manifest, "published", lambda: table)
        return entries[0]

    return publish


def test_get_model_downloads_missing_weights_once(server, home, publish, monkeypatch):
    row, content, model = made_weights.make(sources=[f"{server.address}/good"])
    publish(row)
    monkeypatch.setattr(Handler, "content", content)
    loaded = elu_zoo.get_model(made_weights.MODEL, weights="mnist")
    for value, expected in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected.astype(np.float16))
    assert elu_zoo.get_model(made_weights.MODEL, weights=row["tag"])
    assert len(server.requests) == 1

    path = home / "weights" / (row["tag"] + manifest.SUFFIX)
    path.write_bytes(content[:-1])
    with pytest.raises(errors.CorruptError, match="Delete the file"):
        elu_zoo.get_model(made_weights.MODEL, weights="mnist")
    assert elu_zoo.fetch_weights() == [path]
    assert path.read_bytes() == content and len(server.requests) == 2


def test_a_full_disk_is_an_error_and_leaves_no_file(server, home, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", refuse)
    with pytest.raises(errors.ResourceError, match="cannot be written: .*No space.*ELU_ZOO_HOME"):
        fetch.ensure(entry(*[f"{server.address}/good"] * 2))
    assert present(home) == [] and len(server.requests) == 1


STATISTICS = f"images_zca-{SHA256[:16]}"


@pytest.mark.parametrize("name", [STATISTICS, STATISTICS.replace("zca", "mean")])
def test_statistics_are_downloaded_with_the_weights(server, home, tmp_path, name):
    source = f"{server.address}/good"
    with_statistics = entry(source, preprocessing={"kind": "x", "statistics": name})
    paths = [home / "weights" / NAME, home / "statistics" / f"{name}.npz"]
    assert fetch.ensure(with_statistics) == paths
    assert [p.read_bytes() for p in paths] == [CONTENT] * 2
    assert statistics_file.find(name, name[7:].partition("-")[0]) == paths[1]


def test_statistics_are_verified_and_limited(server, home, monkeypatch):
    with_statistics = {"preprocessing": {"statistics": STATISTICS}}
    (home / "weights").mkdir(parents=True)
    (home / "weights" / NAME).write_bytes(CONTENT)
    with pytest.raises(errors.ResourceError, match="its SHA-256 is .*Copy"):
        fetch.ensure(entry(f"{server.address}/truncated", **with_statistics))
    monkeypatch.setattr(fetch, "_STATISTICS_BYTES", 149_999)
    with pytest.raises(errors.ResourceError, match="it sends more than 149999 bytes"):
        fetch.ensure(entry(f"{server.address}/good", **with_statistics))
    assert present(home) == [f"weights/{NAME}"]


def test_a_pattern_selects_weights_with_their_statistics(server, home, publish):
    good, bad = f"{server.address}/good", f"{server.address}/truncated"
    with_statistics = {"preprocessing": {"statistics": STATISTICS}}
    publish(
        entry(good, tag="net.b", **with_statistics),
        entry(good, tag="net.a", **with_statistics),
        entry(bad, tag="bad.a"),
        entry(tag="bad.b"),
    )
    weights, statistics = home / "weights", home / "statistics"
    expected = [weights / "net.a.weights.h5", weights / "net.b.weights.h5"]
    expected.append(statistics / f"{STATISTICS}.npz")
    assert elu_zoo.fetch_weights("net.*") == expected
    assert len(server.requests) == 3
    with pytest.raises(errors.ResourceError, match="bad.a.*SHA-256"):
        elu_zoo.fetch_weights()
    with pytest.raises(errors.NotFoundError, match="bad.b.weights.h5 is neither"):
        elu_zoo.fetch_weights("bad.b")


def test_a_pattern_without_matches_is_refused_with_a_suggestion(publish):
    publish(entry(tag="mnist_mlp.mnist_elu-1", model="mnist_mlp"))
    with pytest.raises(
        errors.UsageError,
        match=r"Unknown weights 'mnist_mpl.*'.*mean 'mnist_mlp\.\*'\?.*mnist_elu-1",
    ):
        elu_zoo.fetch_weights("mnist_mpl*")


def test_a_damaged_file_of_the_package_is_refused(publish, tmp_path, monkeypatch):
    publish(entry("https://host"))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / NAME).write_bytes(b"?")
    monkeypatch.setattr(fetch.resources, "files", lambda name: tmp_path)
    with pytest.raises(errors.CorruptError, match="damaged or.* again"):
        elu_zoo.fetch_weights()


# Maps the behaviour of a source, or its address, to a word of the message.
BAD = {
    "truncated": "SHA-256",
    "endless": "more than 150000",
    "bad_reason": "500",
    "garbage": "SSH-2.0-OpenSSH",
    "silent": "timed out",
    "to_a_file": "not allowed",
    "/etc": "unknown url",
    "hf:owner/truncated": "was not read",
}


@pytest.mark.parametrize("name", BAD)
def test_after_a_bad_source_the_next_one_is_used(server, home, tmp_path, monkeypatch, name):
    monkeypatch.setattr(fetch, "_SILENCE_SECONDS", 0.5)
    source = f"{server.address}/{name}" if hasattr(Handler, name) else name
    with hub_stand_in.serve(tmp_path / "cache"):
        with pytest.raises(errors.ResourceError, match=BAD[name]) as caught:
            fetch.ensure(entry(source))
        message = str(caught.value)
        assert message.isprintable() and f"{source}: " in message and SHA256 in message
        assert present(home) == []
        (path,) = fetch.ensure(entry(source, f"{server.address}/moved"))
    assert path.read_bytes() == CONTENT and present(home) == [f"weights/{NAME}"]


def test_a_file_is_downloaded_from_the_hub(home, tmp_path):
    with hub_stand_in.serve(tmp_path / "cache") as hub:
        hub.files[NAME] = CONTENT
        (path,) = fetch.ensure(entry("hf:owner/repo"))
    assert path == home / "weights" / NAME and path.read_bytes() == CONTENT
