"""Full disks, refused writes and killed processes: no work is lost."""

import collections
import errno
import os
import shutil

import pytest

from elu_zoo import errors

Usage = collections.namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("free", "refused"), [(0, True), (100_000, True), (10**9, False)]
)
def test_room_for_checkpoints(smoke, train, tmp_path, monkeypatch, free, refused):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**10, 0, free))
    workdir = tmp_path / "a" / "run"
    if not refused:
        assert train(smoke(), workdir)["step"] == 20
        return
    words = rf"disk of .*run/checkpoints has {free} bytes free; \d{{6}} are needed"
    with pytest.raises(errors.ResourceError, match=words):
        train(smoke(), workdir)
    assert not (tmp_path / "a").exists()


def test_a_folder_without_permission(smoke, train, tmp_path, monkeypatch):
    # Root may write in every folder.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(errors.ResourceError, match="run/checkpoints cannot be used"):
        train(smoke(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of an undisturbed run."""
    return tmp_path_factory.mktemp("whole") / "run"


@pytest.mark.parametrize("call", [0, 7, 20, 25])
def test_full_at_any_moment(
    smoke, train, tmp_path, monkeypatch, last_arrays, assert_same_bits, whole, call
):
    """While rows, checkpoints, weights or the entry are written."""
    config = smoke({"train.checkpoint_every": 4, "train.momentum": 0.9})
    workdir = tmp_path / "run"
    left, fsync = [call], os.fsync

    def full(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(errors.ResourceError, match="No space left.* intact"):
            train(config, workdir)
    assert not (workdir / "outcome.json").exists()
    assert not list(workdir.rglob(".*"))
    found, expected = train(config, workdir), train(config, whole)
    assert found["sha256"] == expected["sha256"]
    assert_same_bits(last_arrays(workdir), last_arrays(whole))
    contents = [(f / "metrics.jsonl").read_bytes() for f in (workdir, whole)]
    assert contents[0] == contents[1]


def test_incomplete_rows_of_a_killed_process(smoke, train, tmp_path, rows, stop_after):
    def cut_and_die():
        for name in "metrics", "timing":
            with (tmp_path / f"{name}.jsonl").open("a") as file:
                file.write('{"step": 1')
        raise KeyError

    stop_after(14, cut_and_die)
    with pytest.raises(KeyError):
        train(smoke(), tmp_path)
    train(smoke(), tmp_path)
    assert [row["step"] for row in rows(tmp_path / "metrics.jsonl")] == [10, 20]
    steps = [row["step"] for row in rows(tmp_path / "timing.jsonl")]
    assert steps == [0, 10, 10, 20]


def test_leftovers_of_a_kill_are_removed(smoke, train, tmp_path):
    ours = ".config.json.abcd_123", ".shared.0000002a", ".net.weights.h5.zzzzzzzz"
    others = ".DS_Store", ".nfs000012", ".gitignore"
    for name in (*ours, *others):
        (tmp_path / name).touch()
    left = tmp_path / "snapshots" / ".epoch-00001.npz.abcd_123"
    left.parent.mkdir()
    left.touch()
    train(smoke(), tmp_path)
    assert sorted(p.name for p in tmp_path.glob(".*")) == sorted(others)
    assert not left.exists()
