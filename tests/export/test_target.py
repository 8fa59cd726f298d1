"""Versions that may not replace those of another model, and how they appear."""

import dataclasses
import fcntl
import json
import os

import pytest

from elu_zoo import errors, files
from elu_zoo.export import origin, versions
from elu_zoo.export.target import Target
from elu_zoo.weights import provenance


def made(tag, **fields):
    weights = {"tag": tag, "sha256": tag * 8}
    return {"model": "net", "dataset": "mnist", "activation": "elu", "alpha": 1.0,
            "weights": weights, **fields}  # fmt: skip


A, B = made("a"), made("b")
OF_AN_EARLIER_VERSION = {key: value for key, value in A.items() if key != "dataset"}


def add(folder, number, source, file=versions.SAVED_MODEL):
    """Writes a version as far as it is looked at; bytes are its elu_zoo.json."""
    path = folder / "net" / str(number) / origin.FILE
    if file != versions.SAVED_MODEL:
        path = path.parents[1] / path.name
    path.parent.mkdir(parents=True)
    if source is not None:
        content = source if isinstance(source, bytes) else json.dumps(source).encode()
        path.write_bytes(content)


def publish(target):
    with target.written() as (path, temporary):
        (temporary / target.file).touch()
    return path


@pytest.mark.parametrize("file", [versions.SAVED_MODEL, versions.ONNX, versions.LITERT])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("there", "version", "source"),
    [
        ({}, None, None),
        ({1: A}, None, A),
        ({1: OF_AN_EARLIER_VERSION}, None, A),
        ({1: B, 2: A}, None, A),
        ({5: A}, 3, A),
    ],
)
def test_the_same_model(tmp_path, caplog, file, replace, there, version, source):
    for number, existing in there.items():
        add(tmp_path, number, existing, file)
    target = Target(tmp_path, "net", file, version, source, replace)
    target.check()
    assert publish(target).name == str(version or max(there, default=0) + 1)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("there", "version", "source", "said"),
    [
        ({1: A, 2: B}, None, A, "version 3 of net replaces version 2: b -> a"),
        ({1: A}, 7, B, "version 7 of net replaces version 1: a -> b"),
        ({5: A}, 3, B, "version 3 of net is b; servers go on taking version 5: a"),
        ({1: A}, None, None, "version 2 of net replaces version 1: a -> UNKNOWN"),
        ({1: None}, None, A, "version 2 of net replaces version 1: UNKNOWN -> a"),
        ({1: None}, None, None, "version 2 of net replaces version 1: UNKNOWN -> UNK"),
        ({1: b"{"}, None, A, "version 2 of net replaces version 1: UNKNOWN -> a"),
        ({1: b"[]"}, None, A, "version 2 of net replaces version 1: UNKNOWN -> a"),
        ({1: b"\xff"}, None, A, "version 2 of net replaces version 1: UNKNOWN -> a"),
    ],
)
def test_another_model(tmp_path, caplog, there, version, source, said):
    for number, existing in there.items():
        add(tmp_path, number, existing)
    target = Target(tmp_path, "net", versions.SAVED_MODEL, version, source)
    for refusing in (target.check, lambda: publish(target)):
        with pytest.raises(errors.UsageError, match="holds another model"):
            refusing()
    assert set(versions.versions(tmp_path / "net")) == set(there)
    target = dataclasses.replace(target, replace=True)
    target.check()
    assert caplog.messages == []
    assert publish(target).is_dir()
    (line,) = caplog.messages
    assert line.replace(provenance.UNKNOWN, "UNKNOWN").startswith(said)


@pytest.mark.parametrize(
    ("version", "effect"), [(None, "be served in its place"), (3, "lie below it")]
)
def test_a_refusal_names_both_and_both_remedies(tmp_path, version, effect):
    add(tmp_path, 5, made("old", dataset="cifar10"))
    source = made("new", dataset="photos", activation="relu", alpha=None)
    with pytest.raises(errors.UsageError) as refused:
        Target(tmp_path, "net", versions.SAVED_MODEL, version, source).check()
    assert str(refused.value) == (
        f"{tmp_path}/net/5 holds another model: cifar10, elu (alpha 1), old. Version "
        f"{version or 6} (photos, relu, new) would {effect}. Pass --name=<another "
        "name> to keep them apart, or --replace to go on (in Python name= and "
        "replace=True)."
    )


@pytest.mark.parametrize(
    ("number", "message"),
    [(1, "1 exists already"), (2, "2 holds another model: b. Version 1 .* lie below")],
)
def test_another_export_that_comes_first_is_seen(tmp_path, number, message):
    source = {"weights": {"tag": "b", "sha256": "b"}}
    with pytest.raises(errors.UsageError, match=message):
        with Target(tmp_path, "net", versions.SAVED_MODEL, source=A).written():
            add(tmp_path, number, source)
    assert [path.name for path in (tmp_path / "net").iterdir()] == [str(number)]


def test_what_came_while_it_waited_for_the_lock_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda *_: add(tmp_path, 2, B))
    with pytest.raises(errors.UsageError, match="net/2 holds another model: .* b. V"):
        publish(Target(tmp_path, "net", versions.SAVED_MODEL, source=A))
    assert [path.name for path in (tmp_path / "net").iterdir()] == ["2"]


def test_the_lock_is_held_until_the_version_is_there(tmp_path, monkeypatch):
    there, seen = os.rename, []

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
        there(*paths)
        seen.append(locked())

    monkeypatch.setattr(files.os, "rename", rename)
    publish(Target(tmp_path, "net", versions.SAVED_MODEL, source=A))
    assert (seen, locked()) == ([True], False)


def test_a_folder_that_cannot_be_locked_is_written_all_the_same(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert publish(Target(tmp_path, "net", versions.SAVED_MODEL, source=A)).is_dir()


def test_leftovers_of_a_killed_export_are_removed(tmp_path):
    """But no folder of an export that is running, and no folder of the user."""
    left, own = tmp_path / "net/.1.abcd_123", tmp_path / "net/.backup"
    for folder in (left, own):
        folder.mkdir(parents=True)
        (folder / "saved_model.pb").touch()
    target = Target(tmp_path, "net", versions.SAVED_MODEL, replace=True)
    with target.written() as (_, running):
        assert not left.exists()
        publish(dataclasses.replace(target, version=7))
        assert running.is_dir()
    found = sorted(path.name for path in (tmp_path / "net").iterdir())
    assert found == [".backup", "1", "7"]
