"""Fixtures that run binaries on bad inputs and check that no files are left."""

import tempfile

import pytest
from binaries import run_here


def _files(folder):
    """Returns {relative path: size in bytes, or None for a folder}."""
    return {
        str(path.relative_to(folder)): path.stat().st_size if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder of the binaries."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def refused(here, tmp_path, monkeypatch):
    """A function that runs a binary which must fail, and returns the error line.

    The function takes the expected exit code, the name of the binary, and the arguments
    of the binary. It checks that the binary prints no traceback, and leaves no files in
    the working folder or in the folder of temporary files.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def run(code, binary, *arguments):
        before = _files(here)
        result = run_here(binary, *arguments)
        assert result.code == code, result.err
        assert _files(here) == before
        # TensorFlow deletes its __autograph files when the process ends.
        leftovers = [name for name in _files(scratch) if "__autograph" not in name]
        assert leftovers == []
        return result.error

    return run
