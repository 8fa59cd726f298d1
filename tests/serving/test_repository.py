"""The repository loads, replaces and unloads the versions in a folder of models."""

import itertools
import os
import shutil

import pytest
from tensorflow_serving.apis import get_model_status_pb2, model_pb2

from elu_zoo import errors
from elu_zoo.serving import repository, servable
from elu_zoo.serving.repository import Repository
from elu_zoo.serving.status_errors import StatusError

START, AVAILABLE, END = (
    get_model_status_pb2.ModelVersionStatus.State.Value(name)
    for name in ("START", "AVAILABLE", "END")
)
_clock = itertools.count(10**18, 10**9)  # modification times in nanoseconds


@pytest.fixture
def loads(monkeypatch):
    """Replaces `servable.load`; returns the list of loaded (name, version).

    A version fails to load if its saved_model.pb contains "broken".
    """
    loads = []

    def load(name, version, path, batcher):
        loads.append((name, version))
        content = (path / servable.FILE).read_text()
        if "broken" in content:
            raise errors.CorruptError(f"{name} {version} is {content}")
        return servable.Servable(name, version, {}, {}, {}, (), {}, content)

    monkeypatch.setattr(repository.servable, "load", load)
    return loads


def write(version, content="good"):
    """Writes the folder of a version, with a new modification time."""
    version.mkdir(parents=True, exist_ok=True)
    (version / servable.FILE).write_text(content)
    time = next(_clock)
    os.utime(version / servable.FILE, ns=(time, time))


def open_repo(base, polls=1):
    repo = Repository(base, lambda name, signature: None)
    assert not (current(repo) or repo.serving())
    for _ in range(polls):
        repo.poll()
    return repo


def spec(name="net", version=None, label=""):
    model_spec = model_pb2.ModelSpec(name=name)
    if version is not None:
        model_spec.version.value = version
    elif label:
        model_spec.version_label = label
    return model_spec


def current(repo, name="net"):
    """Returns the number of the served version, or None."""
    try:
        return repo.find(spec(name)).version
    except StatusError as error:
        assert error.http_status == 404


def states(repo, name="net"):
    rows = repo.status(spec(name)).model_version_status
    return {row.version: row.state for row in rows}


@pytest.fixture
def net(tmp_path):
    return tmp_path / "net"


@pytest.mark.parametrize("folders", [[], ["net/x/1", ".net/1"]])
def test_folder_without_models_raises_an_error(tmp_path, folders):
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    with pytest.raises(errors.UsageError, match="no model"):
        open_repo(tmp_path)


def test_names_of_versions_are_integers_from_0(net, loads):
    largest = 2**63 - 1  # int64
    for name in str(largest + 1), "-1", "1.0", "1.tmp", "latest", "١", "²":
        write(net / name)
    (net / "5").write_text("")
    with pytest.raises(errors.UsageError):
        open_repo(net)
    for name, version in ("0", 0), ("01", 1), (str(largest), largest):
        write(net / name)
        assert current(open_repo(net)) == version
    assert loads == [("net", 0), ("net", 1), ("net", largest)]


def test_single_model_has_the_name_of_its_folder(net, loads, monkeypatch):
    write(net / "3")
    monkeypatch.chdir(net)
    for base in net, net.parent, net.relative_to(net), net / "..":
        assert current(open_repo(base)) == 3


def test_all_models_of_a_folder_are_served(tmp_path, loads):
    for name in "b", "a", "ü x", ".hidden":
        write(tmp_path / name / "1")
    (tmp_path / "empty").mkdir()
    repo = open_repo(tmp_path, polls=2)
    assert [s.name for s in repo.serving()] == ["a", "b", "ü x"]
    assert [current(repo, name) for name in ("a", "b", "ü x")] == [1, 1, 1]
    assert len(loads) == 3


def test_highest_version_that_loads_is_served_at_the_start(net, loads, caplog):
    for version, content in (1, "good"), (9, "good"), (10, "broken 10"), (11, "broken 11"):
        write(net / str(version), content)
    repo = open_repo(net, polls=3)
    assert (loads, current(repo)) == ([("net", 11), ("net", 10), ("net", 9)], 9)
    rows = repo.status(spec()).model_version_status
    assert [(r.version, r.state, r.status.error_code, r.status.error_message) for r in rows] == [
        (11, END, 2, "net 11 is broken 11"),
        (10, END, 2, "net 10 is broken 10"),
        (9, AVAILABLE, 0, ""),
    ]
    assert caplog.messages == ["net 11 is broken 11", "net 10 is broken 10"]


def test_new_version_is_loaded_when_two_polls_find_equal_files(net, loads):
    write(net / "1")
    repo = open_repo(net)
    write(net / "2")
    (net / "2" / "variables").mkdir()
    for content in "h", "half", "", "whole":
        (net / "2" / "variables" / "data").write_text(content)
        repo.poll()
        assert current(repo) == 1 and len(loads) == 1
        assert states(repo) == {1: AVAILABLE, 2: START}
    repo.poll()
    assert current(repo) == 2
    assert states(repo) == {1: END, 2: AVAILABLE}
    assert loads == [("net", 1), ("net", 2)]


def test_broken_version_is_loaded_again_when_its_files_change(net, loads, monkeypatch):
    write(net / "1")
    repo = open_repo(net)
    for content in "broken", "broken still":
        write(net / "2", content)
        loads.clear()
        for _ in range(4):
            repo.poll()
        assert loads == [("net", 2)]
        assert current(repo) == 1 and states(repo) == {1: AVAILABLE, 2: END}
        row = repo.status(spec(version=2)).model_version_status[0]
        assert row.status.error_message == f"net 2 is {content}"
    monkeypatch.setattr(repository, "_RETRY_SECONDS", 0.0)  # another minute after each poll
    for _ in range(9):
        repo.poll()
    assert loads == [("net", 2)] * 6
    write(net / "2", "fixed")
    repo.poll()
    repo.poll()
    assert current(repo) == 2
    assert states(repo) == {1: END, 2: AVAILABLE}
    assert repo.status(spec(version=2)).model_version_status[0].status.error_code == 0


def test_model_that_cannot_be_read_stays_in_service(net, loads, monkeypatch, caplog):
    write(net / "1")
    repo, read = open_repo(net.parent), repository._subfolders

    def fail(folder):
        if folder == net:
            raise OSError("I/O error")
        return read(folder)

    monkeypatch.setattr(repository, "_subfolders", fail)
    for _ in range(3):
        repo.poll()
    assert current(repo) == 1
    assert caplog.messages.count("Cannot read model net: I/O error") == 1


@pytest.mark.parametrize("deleted", ["net", "net/1"])
def test_model_is_unloaded_when_deleted_and_loaded_when_restored(net, loads, deleted):
    write(net / "1")
    write(net.parent / "other" / "1")
    repo = open_repo(net.parent)
    shutil.rmtree(net.parent / deleted)
    repo.poll()
    assert current(repo) is None and current(repo, "other") == 1
    assert [s.name for s in repo.serving()] == ["other"]
    with pytest.raises(StatusError, match="no model net"):
        repo.status(spec())
    write(net / "1", "half copied")
    repo.poll()
    assert states(repo) == {1: START}
    repo.poll()
    assert current(repo) == 1
    assert states(repo) == {1: AVAILABLE}


@pytest.mark.parametrize(
    ("method", "query", "status", "known"),
    [
        ("find", spec(""), 400, None),
        ("find", spec("nett"), 404, "net, other"),
        ("find", spec(version=1), 404, "net/versions/2"),
        ("find", spec("down", 1), 404, "net, other"),
        ("find", spec(label="a"), 400, None),
        ("status", spec("x"), 404, "down, net, other"),
        ("status", spec(version=1), 404, "2"),
        ("status", spec(label="a"), 400, None),
    ],
)
def test_unknown_names_raise(net, loads, method, query, status, known):
    for folder in "net/1", "net/2", "other/1", "down/1":
        write(net.parent / folder, "broken" if "down" in folder else "good")
    repo = open_repo(net.parent)
    with pytest.raises(StatusError) as raised:
        getattr(repo, method)(query)
    assert raised.value.http_status == status
    assert not known or raised.value.message.endswith(f" Available: {known}.")
    assert repo.find(spec(version=2)).version == 2
    assert states(repo, "down") == {1: END}
