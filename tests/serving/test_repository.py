import itertools
import os
import shutil

import pytest
from tensorflow_serving.apis import get_model_status_pb2, model_pb2

from elu_zoo import errors
from elu_zoo.serving import repository, servable
from elu_zoo.serving.repository import Repository
from elu_zoo.serving.status_errors import StatusError

START, LOADING, AVAILABLE, END = (
    get_model_status_pb2.ModelVersionStatus.State.Value(name)
    for name in ("START", "LOADING", "AVAILABLE", "END")
)
_clock = itertools.count(10**18, 10**9)


@pytest.fixture
def tried(monkeypatch):
    """(name, version) of each load; a version that contains `broken` fails to load."""
    tried = []

    def load(name, version, path, batcher):
        tried.append((name, version))
        content = (path / servable.FILE).read_text()
        if "broken" in content:
            raise errors.CorruptError(f"{name} {version} is {content}")
        return servable.Servable(name, version, {}, {}, {}, (), {}, content)

    monkeypatch.setattr(repository.servable, "load", load)
    return tried


def write(version, content="good"):
    """Writes a version's folder with a new modification time."""
    version.mkdir(parents=True, exist_ok=True)
    (version / servable.FILE).write_text(content)
    time = next(_clock)
    os.utime(version / servable.FILE, ns=(time, time))


def opened(base, polls=1):
    made = Repository(base, lambda name, signature: None)
    assert not (found(made) or made.serving())
    for _ in range(polls):
        made.poll()
    return made


def spec(name="net", version=None, label=""):
    made = model_pb2.ModelSpec(name=name)
    if version is not None:
        made.version.value = version
    elif label:
        made.version_label = label
    return made


def found(made, name="net"):
    """Returns the number of the served version, or None."""
    try:
        return made.find(spec(name)).version
    except StatusError as error:
        assert error.http_status == 404


def states(made, name="net"):
    rows = made.status(spec(name)).model_version_status
    return {row.version: row.state for row in rows}


@pytest.fixture
def net(tmp_path):
    return tmp_path / "net"


def test_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    for name in "nothing", "file":
        with pytest.raises(errors.NotFoundError, match=f"no folder .*{name}"):
            opened(tmp_path / name)


@pytest.mark.parametrize("folders", [(), ("net",), ("net/x/1",), ("0",), (".net/1",)])
def test_no_model(tmp_path, folders):
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    with pytest.raises(errors.UsageError, match="contains no model. Expected .*<vers"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("01", 1),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),  # above the largest int64
        ("0", None),
        ("-1", None),
        ("1.0", None),
        ("1.tmp", None),
        ("١", None),
        ("²", None),
    ],
)
def test_names_of_versions(net, tried, name, version):
    write(net / name)
    if version is None:
        with pytest.raises(errors.UsageError):
            opened(net)
        return
    made = opened(net)
    assert tried == [("net", version)]
    assert found(made) == version
    assert states(made) == {version: AVAILABLE}


def test_other_folders_and_files_are_ignored(net, tried):
    for name in "1", "latest":
        write(net / name)
    (net / "2").write_text("")
    assert found(opened(net)) == 1 and tried == [("net", 1)]


def test_a_folder_of_one_model_has_its_own_name(net, tried, monkeypatch):
    write(net / "3")
    monkeypatch.chdir(net)
    for base in net, net.parent, net.relative_to(net), net / "..":
        assert found(opened(base)) == 3


def test_several_models(tmp_path, tried):
    for name in "b", "a", "ü x", ".hidden":
        write(tmp_path / name / "1")
    (tmp_path / "empty").mkdir()
    made = opened(tmp_path, polls=2)
    assert [s.name for s in made.serving()] == ["a", "b", "ü x"]
    assert [found(made, name) for name in ("a", "b", "ü x")] == [1, 1, 1]
    assert len(tried) == 3


def test_the_highest_version_answers(net, tried):
    for version in 1, 9, 10:
        write(net / str(version))
    made = opened(net)
    assert tried == [("net", 10)]
    assert found(made) == 10
    assert states(made) == {10: AVAILABLE}


def test_a_broken_highest_version_at_the_start(net, tried, caplog):
    for version, content in (1, "good"), (2, "good"), (3, "broken 3"), (4, "broken 4"):
        write(net / str(version), content)
    with caplog.at_level("INFO", repository.__name__):
        made = opened(net)
    assert (tried, found(made)) == ([("net", 4), ("net", 3), ("net", 2)], 2)
    rows = made.status(spec()).model_version_status
    assert [
        (r.version, r.state, r.status.error_code, r.status.error_message) for r in rows
    ] == [
        (4, END, 2, "net 4 is broken 4"),
        (3, END, 2, "net 3 is broken 3"),
        (2, AVAILABLE, 0, ""),
    ]
    served = "serving net/2: weights of unknown origin"
    assert caplog.messages == ["net 4 is broken 4", "net 3 is broken 3", served]
    made.poll()
    assert len(tried) == 3


def test_a_new_version_is_loaded_when_its_files_no_longer_change(net, tried):
    write(net / "1")
    made = opened(net)
    write(net / "2")
    (net / "2" / "variables").mkdir()
    for content in "h", "half", "", "whole":
        (net / "2" / "variables" / "data").write_text(content)
        made.poll()
        assert found(made) == 1 and len(tried) == 1
        assert states(made) == {1: AVAILABLE, 2: START}
    made.poll()
    assert found(made) == 2
    assert states(made) == {1: END, 2: AVAILABLE}
    assert tried == [("net", 1), ("net", 2)]


def test_the_old_version_answers_while_the_new_one_loads(net, tried, monkeypatch):
    write(net / "1")
    made = opened(net)
    write(net / "2")
    load, seen = repository.servable.load, []

    def look(*arguments):
        seen.append((found(made), states(made)))
        return load(*arguments)

    monkeypatch.setattr(repository.servable, "load", look)
    made.poll()
    made.poll()
    assert seen == [(1, {1: AVAILABLE, 2: LOADING})]


def test_a_broken_new_version_is_tried_again_when_its_files_change(net, tried):
    write(net / "1")
    made = opened(net)
    for content in "broken", "broken still":
        write(net / "2", content)
        tried.clear()
        for _ in range(4):
            made.poll()
        assert tried == [("net", 2)]
        assert found(made) == 1 and states(made) == {1: AVAILABLE, 2: END}
        row = made.status(spec(version=2)).model_version_status[0]
        assert row.status.error_message == f"net 2 is {content}"
    write(net / "2", "fixed")
    made.poll()
    made.poll()
    assert found(made) == 2
    assert states(made) == {1: END, 2: AVAILABLE}
    assert made.status(spec(version=2)).model_version_status[0].status.error_code == 0


def test_a_lower_version_is_not_loaded(net, tried):
    write(net / "5")
    made = opened(net)
    write(net / "4")
    made.poll()
    made.poll()
    assert found(made) == 5 and states(made) == {5: AVAILABLE}


def test_a_deleted_version_is_replaced_by_the_previous_one(net, tried):
    for version in 1, 2:
        write(net / str(version))
    made = opened(net)
    shutil.rmtree(net / "2")
    made.poll()
    assert found(made) == 2  # still in memory, until version 1 is loaded
    made.poll()
    assert found(made) == 1
    assert states(made) == {1: AVAILABLE, 2: END}
    made.poll()
    assert tried == [("net", 2), ("net", 1)]


def test_a_version_that_returns_before_the_next_poll_stays_available(net, tried):
    for version in 1, 2:
        write(net / str(version))
    made = opened(net)
    shutil.move(net / "2", net / "moved")
    made.poll()
    shutil.move(net / "moved", net / "2")
    made.poll()
    assert found(made) == 2
    assert states(made)[2] == AVAILABLE


@pytest.mark.parametrize("gone", ["net", "net/1"])
def test_all_versions_are_deleted_and_one_returns(net, tried, gone):
    write(net / "1")
    write(net.parent / "other" / "1")
    made = opened(net.parent)
    shutil.rmtree(net.parent / gone)
    made.poll()
    assert found(made) is None and found(made, "other") == 1
    assert [s.name for s in made.serving()] == ["other"]
    with pytest.raises(StatusError, match="Could not find any versions of model net"):
        made.status(spec())
    write(net / "1", "half copied")
    made.poll()
    assert states(made) == {1: START}
    made.poll()
    assert found(made) == 1
    assert states(made) == {1: AVAILABLE}


def test_a_folder_that_cannot_be_read_changes_nothing(net, tried):
    write(net / "1")
    made = opened(net)
    shutil.rmtree(net)
    with pytest.raises(OSError):
        made.poll()
    assert found(made) == 1 and states(made) == {1: AVAILABLE}


def test_a_new_model(net, tried):
    write(net / "1")
    made = opened(net.parent)
    write(net.parent / "new" / "1", "broken")
    write(net.parent / "new" / "2")
    made.poll()
    assert found(made, "new") is None and states(made, "new") == {2: START}
    made.poll()
    assert found(made, "new") == 2 and found(made) == 1


NONE = "Servable not found for request: "
NO = "Could not find "
MODELS = "net", "other"
ALL = "down", *MODELS


@pytest.mark.parametrize(
    ("method", "asked", "status", "text", "available"),
    [
        ("find", spec(""), 400, "Missing model name in request.", ()),
        ("find", spec("nett"), 404, NONE + "Latest(nett)", MODELS),
        ("find", spec(version=1), 404, NONE + "Specific(net, 1)", ("net/versions/2",)),
        ("find", spec("down", 1), 404, NONE + "Specific(down, 1)", MODELS),
        ("find", spec("x" * 999), 404, NONE + f"Latest({'x' * 100}...)", MODELS),
        ("find", spec(label="a"), 400, "Unrecognized servable version label: a", ()),
        ("status", spec("x"), 404, NO + "any versions of model x", ALL),
        ("status", spec(version=1), 404, NO + "version 1 of model net", ("2",)),
        ("status", spec(label="a"), 400, "Unrecognized servable version label: a", ()),
    ],
)
def test_errors(net, tried, method, asked, status, text, available):
    for folder in "net/1", "net/2", "other/1", "down/1":
        write(net.parent / folder, "broken" if "down" in folder else "good")
    made = opened(net.parent)
    with pytest.raises(StatusError) as raised:
        getattr(made, method)(asked)
    assert (raised.value.http_status, raised.value.message) == (status, text)
    assert raised.value.available == available
    assert made.find(spec(version=2)).version == 2
    assert states(made, "down") == {1: END}
