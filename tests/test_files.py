"""Files: atomic writes, folders, hashes and locks."""

import hashlib
import os
import signal
import subprocess
import sys

import pytest

from elu_zoo import errors, files


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_home_is_elu_zoo_home_or_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path))
    assert files.home() == tmp_path
    monkeypatch.setenv("ELU_ZOO_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.home() == tmp_path / ".cache" / "elu_zoo"


def test_write_creates_folders_and_replaces(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    files.write_bytes(path, b"old")
    files.write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(path.parent) == ["file"]
    assert path.stat().st_mode & 0o777 == 0o644
    assert files.sha256(b"new") == files.sha256(path) == hashlib.sha256(b"new").hexdigest()


@pytest.mark.parametrize("function", ["fsync", "replace", "chmod"])
def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch, function):
    path = tmp_path / "file"
    files.write_bytes(path, b"old")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, function, refuse)
    with pytest.raises(OSError, match="No space"):
        files.write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_json_is_sorted_and_has_no_nan(tmp_path):
    files.write_json(tmp_path / "x.json", {"b": 1, "a": None})
    assert (tmp_path / "x.json").read_text() == '{\n  "a": null,\n  "b": 1\n}\n'
    with pytest.raises(ValueError):
        files.write_json(tmp_path / "x.json", {"a": float("nan")})


def test_new_directory_appears_whole_when_the_block_succeeds(tmp_path):
    path = tmp_path / "parent" / "new"
    with pytest.raises(KeyboardInterrupt), files.new_directory(path) as folder:
        (folder / "file").write_text("content")
        raise KeyboardInterrupt
    assert names(path.parent) == []
    with files.new_directory(path) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "file").write_text("content")
        assert not path.exists()
    assert (path / "sub" / "file").read_text() == "content"
    assert names(path.parent) == ["new"] and path.stat().st_mode & 0o777 == 0o755
    with pytest.raises(OSError, match="not empty"), files.new_directory(path):
        pass
    assert names(path) == ["sub"] and names(path.parent) == ["new"]


HOLD = """
import sys
from pathlib import Path
from elu_zoo import files
with files.exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_states_its_owner_and_ends_when_the_owner_ends(tmp_path):
    lock = tmp_path / "run" / "LOCK"
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with owner:
        assert owner.stdout.readline() == b"held\n"
        words = rf"run is in use by process {owner.pid} on {os.uname().nodename}, "
        with pytest.raises(errors.ResourceError, match=words), files.exclusive(lock):
            pass
        owner.send_signal(signal.SIGKILL)
        owner.wait(10)
    for _ in range(2):
        with files.exclusive(lock):
            assert lock.read_text().startswith(f"process {os.getpid()} on ")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "a named pipe"),
        (lambda path: (path.touch(), os.truncate(path, 1 << 40)), "bytes; such a file has at most"),
    ],
)
def test_special_and_huge_files_are_not_read(tmp_path, within, make, kind):
    make(tmp_path / "x.json")
    for read in (files.read, files.read_json, files.read_rows):
        with pytest.raises(errors.CorruptError, match=f"x.json is .*{kind}.* delete"):
            within(read, tmp_path / "x.json")


@pytest.mark.parametrize("text", [b"{", b"[" * 100_000, b"[1]"])
def test_damaged_and_nested_json_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(errors.CorruptError, match="x.json is damaged.*delete"):
        files.read_json(tmp_path / "x.json")


def test_rows_end_before_the_part_of_a_row(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n[2]\n{"a"')
    assert files.read_rows(tmp_path / "x.jsonl") == [{"a": 1}, [2]]
