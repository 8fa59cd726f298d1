"""Targets of exports: replaced models, concurrent exports, leftovers."""

import dataclasses
import fcntl
import json
import os

import pytest

from elu_zoo import errors, files
from elu_zoo.export import origin, versions
from elu_zoo.export.target import Target
from elu_zoo.weights import provenance


def origin_of(tag, **fields):
    elu = {"model": "net", "dataset": "mnist", "activation": "elu", "alpha": 1.0}
    return {**elu, "weights": {"tag": tag, "sha256": tag * 8}, **fields}


A, B = origin_of("a"), origin_of("b")
WITHOUT_DATASET = {key: value for key, value in A.items() if key != "dataset"}


def add(folder, number, source, file=versions.SAVED_MODEL):
    """Writes a version with the elu_zoo.json `source`, or without it for None."""
    path = folder / "net" / str(number) / origin.FILE
    if file != versions.SAVED_MODEL:
        path = path.parents[1] / path.name
    path.parent.mkdir(parents=True)
    if source is not None:
        content = source if isinstance(source, bytes) else json.dumps(source).encode()
        path.write_bytes(content)


def publish(target):
    with target.write_version() as (path, temporary):
        (temporary / target.file).touch()
    return path


@pytest.mark.parametrize("file", [versions.SAVED_MODEL, versions.ONNX])
@pytest.mark.parametrize(
    ("existing", "version", "source"),
    [({}, None, None), ({1: WITHOUT_DATASET}, None, A), ({1: B, 2: A}, None, A), ({5: A}, 3, A)],
)
def test_version_of_the_same_model_is_written(tmp_path, caplog, file, existing, version, source):
    for number, origin_ in existing.items():
        add(tmp_path, number, origin_, file)
    target = Target(tmp_path, "net", file, version, source)
    target.check()
    assert publish(target).name == str(version or max(existing, default=0) + 1)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("existing", "version", "source", "message"),
    [
        ({1: A, 2: B}, None, A, "b -> mnist, elu (alpha 1), a"),
        ({1: A}, 7, B, "a -> mnist, elu (alpha 1), b"),
        ({5: A}, 3, B, "version 5: mnist, elu (alpha 1), a"),
        ({1: A}, None, None, "a -> UNKNOWN"),
        ({1: None}, None, A, "UNKNOWN -> mnist, elu (alpha 1), a"),
        ({1: b"{"}, None, A, "UNKNOWN -> mnist, elu (alpha 1), a"),
    ],
)
def test_another_model_is_replaced_only_with_replace(
    tmp_path, caplog, existing, version, source, message
):
    for number, origin_ in existing.items():
        add(tmp_path, number, origin_)
    target = Target(tmp_path, "net", versions.SAVED_MODEL, version, source)
    for refusing in (target.check, lambda: publish(target)):
        with pytest.raises(errors.UsageError, match="another model"):
            refusing()
    assert set(versions.versions(tmp_path / "net")) == set(existing)
    target = dataclasses.replace(target, replace=True)
    target.check()
    assert publish(target).is_dir()
    (line,) = caplog.messages
    assert line.replace(provenance.UNKNOWN, "UNKNOWN").endswith(message)


def test_a_path_that_tensorflow_takes_for_a_pattern_is_refused(tmp_path):
    with pytest.raises(errors.UsageError, match=r"a path with '\['"):
        Target(tmp_path / "ex[1]", "net", versions.SAVED_MODEL, source=A).check()
    Target(tmp_path / "ex[1]", "net", versions.LITERT, source=A).check()
    (tmp_path / "ex[1]").mkdir()
    with pytest.raises(errors.UsageError, match=r"'\['"):
        versions.find_version(tmp_path / "ex[1]")


def test_versions_of_another_format_are_refused(tmp_path):
    publish(Target(tmp_path, "net", versions.ONNX, source=A))
    for file in versions.SAVED_MODEL, versions.LITERT:
        with pytest.raises(errors.UsageError, match=f"{versions.ONNX}, .* {file}"):
            Target(tmp_path, "net", file, source=A).check()


@pytest.mark.parametrize(("version", "effect"), [(None, "served instead"), (3, "not served")])
def test_refusal_describes_both_models(tmp_path, version, effect):
    add(tmp_path, 5, origin_of("old", dataset="cifar10"))
    source = origin_of("new", dataset="photos", activation="relu", alpha=None)
    with pytest.raises(errors.UsageError) as refused:
        Target(tmp_path, "net", versions.SAVED_MODEL, version, source).check()
    words = "net/5", "cifar10, elu (alpha 1), old", "photos, relu, new", effect, "--replace"
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [(1, errors.ResourceError, "Another export"), (2, errors.UsageError, "2 holds another")],
)
def test_concurrent_export_that_finished_first_is_kept(tmp_path, number, error, words):
    with pytest.raises(error, match=words):
        with Target(tmp_path, "net", versions.SAVED_MODEL, source=A).write_version():
            add(tmp_path, number, B)
    assert [path.name for path in (tmp_path / "net").iterdir()] == [str(number)]


def test_export_that_finished_during_the_wait_for_a_lock_is_kept(tmp_path, monkeypatch):
    def add_once(*_):
        if not (tmp_path / "net" / "2").exists():
            add(tmp_path, 2, B)

    with pytest.raises(errors.UsageError, match="another model"):
        with Target(tmp_path, "net", versions.SAVED_MODEL, source=A).write_version():
            monkeypatch.setattr(fcntl, "flock", add_once)
    assert [path.name for path in (tmp_path / "net").iterdir()] == ["2"]


def test_lock_is_held_during_the_rename(tmp_path, monkeypatch):
    original, seen = os.rename, []

    def locked():
        folder = os.open(tmp_path / "net", os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(folder)

    def rename(*paths):
        original(*paths)
        seen.append(locked())

    monkeypatch.setattr(files.os, "rename", rename)
    publish(Target(tmp_path, "net", versions.SAVED_MODEL, source=A))
    assert (seen, locked()) == ([True], False)


def test_leftovers_of_a_killed_export_are_removed(tmp_path):
    """The lock of a leftover is free, because a process that ends loses its locks."""
    leftover = tmp_path / "net" / ".1.ab_d12ef.partial"
    names = ".1", ".1.ab_d12ef", ".net.ab_d12ef.partial", "notes"
    others = [tmp_path / "net" / name for name in names]
    for folder in (leftover, *others):
        folder.mkdir(parents=True)
        (folder / "saved_model.pb").touch()
    path = publish(Target(tmp_path, "net", versions.SAVED_MODEL, source=A))
    assert sorted(path.parent.iterdir()) == sorted([path, *others])


@pytest.mark.parametrize("locks", [True, False])
def test_running_export_is_not_a_leftover(tmp_path, monkeypatch, locks):
    def no_locks(*_):
        raise OSError(95, os.strerror(95))

    if not locks:
        monkeypatch.setattr(fcntl, "flock", no_locks)
    target = Target(tmp_path, "net", versions.SAVED_MODEL, replace=True)
    with target.write_version() as (path, temporary):
        (temporary / target.file).touch()
        other = publish(dataclasses.replace(target, version=5))
    assert (path / target.file).exists() and (other / target.file).exists()
