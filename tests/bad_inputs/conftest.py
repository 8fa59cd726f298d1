"""Runs binaries that must refuse, and looks at what they leave behind."""

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
    """Runs a binary that must fail: (exit code, binary, *arguments) -> its one line.

    There is no traceback, and neither the folder nor the one for temporary files has
    changed.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def run(code, binary, *arguments):
        before = _files(here)
        result = run_here(binary, *arguments)
        assert result.code == code, result.err
        assert _files(here) == before
        # TensorFlow's own, which it deletes when the process ends.
        left = [name for name in _files(scratch) if "__autograph" not in name]
        assert left == []
        return result.error

    return run
