"""Full disks, folders without permission, and files that a killed process left."""

import collections
import errno
import os
import shutil

import pytest

from elu_zoo import errors
from elu_zoo.training.record.observers import Activations, Snapshots

Usage = collections.namedtuple("Usage", "total used free")


@pytest.mark.parametrize("free", [0, 100_000])
def test_a_disk_without_room_is_refused(smoke, train, tmp_path, monkeypatch, free):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**10, 0, free))
    words = rf"disk of .*run/checkpoints has {free} bytes free; \d{{6}} are needed"
    with pytest.raises(errors.ResourceError, match=words):
        train(smoke(), tmp_path / "a" / "run")
    assert not (tmp_path / "a").exists()


def test_a_folder_without_permission_is_refused(smoke, train, tmp_path, monkeypatch):
    # Root, who may run this test, can use folders without permission.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(errors.ResourceError, match="run/checkpoints cannot be used"):
        train(smoke(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """The folder of a run on a disk that is not full."""
    return tmp_path_factory.mktemp("intact") / "run"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["config.json", "metrics.jsonl", "step-000000012", ".weights.h5", "outcome.json"]
)
def test_a_run_resumes_bit_identically_after_the_disk_was_full(
    smoke, train, tmp_path, monkeypatch, last_arrays, assert_same_bits, intact, name
):
    config = smoke({"train.checkpoint_every": 4, "train.momentum": 0.9})
    workdir = tmp_path / "run"
    is_full, fsync = [], os.fsync

    def limited(descriptor):
        if is_full or name in os.readlink(f"/proc/self/fd/{descriptor}"):
            is_full.append(True)
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", limited)
        with pytest.raises(errors.ResourceError, match="No space left.* same command"):
            train(config, workdir)
    assert not (workdir / "outcome.json").exists()
    assert not list(workdir.rglob(".*"))
    resumed, expected = train(config, workdir), train(config, intact)
    assert resumed["sha256"] == expected["sha256"]
    assert_same_bits(last_arrays(workdir), last_arrays(intact))
    contents = [(f / "metrics.jsonl").read_bytes() for f in (workdir, intact)]
    assert contents[0] == contents[1]


def test_temporary_files_of_a_killed_process_are_removed(smoke, train, tmp_path):
    ours = ".net.weights.h5.zzzzzzzz", "checkpoints/.step-000000009.npz.abcd_123"
    ours += "snapshots/.epoch-00001.npz.abcd_123", "activations/.a.npz.00000000"
    users = ".gitignore", ".template.partial", "src/.net.weights.h5.zzzzzzzz.partial"
    for name in (*(f"{name}.partial" for name in ours), *users):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    train(smoke(), tmp_path, observers=(Activations(5), Snapshots((1,))))
    assert sorted(tmp_path.rglob(".*")) == sorted(tmp_path / name for name in users)
