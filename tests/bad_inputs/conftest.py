"""Binaries that must fail, and a check that they leave no files behind."""

import tempfile

import pytest
from binaries import run_here


def _files(folder):
    return {
        str(path.relative_to(folder)): path.stat().st_size if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder in which binaries run."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def refused(here, tmp_path, monkeypatch):
    """Runs a binary that must fail: (exit code, binary, *arguments) -> error line.

    Checks that the binary prints no traceback and leaves no files in the working
    folder or the folder of temporary files.
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
        left = [name for name in _files(scratch) if "__autograph" not in name]
        assert left == []
        return result.error

    return run
