"""Output on stderr of a command and of its worker processes."""

import contextlib
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import keras
import pytest

from elu_zoo import quiet, zoo

SCRIPT = """
import logging, os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from elu_zoo import quiet

def work():
    import tensorflow
    logging.getLogger("absl").warning("a child's %s", "words")
    return os.getpid()

if __name__ == "__main__":
    quiet.start()
    with ProcessPoolExecutor(1, get_context("spawn"), quiet.follow) as pool:
        print(pool.submit(work).result() != os.getpid())
"""


@pytest.mark.slow
def test_a_child_prints_messages_of_elu_zoo_only(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    command = [sys.executable, path]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (process.stdout, process.stderr) == ("True\n", "warning: a child's words\n")


@pytest.mark.parametrize("inherited", [True, False])
def test_only_a_child_of_a_command_is_quiet(monkeypatch, inherited):
    monkeypatch.setenv("ELU_ZOO_QUIET", "1")
    if not inherited:
        monkeypatch.delenv("ELU_ZOO_QUIET")
    started = []
    monkeypatch.setattr(quiet, "start", lambda: started.append(True))
    quiet.follow()
    assert bool(started) == inherited


@pytest.mark.parametrize(
    ("start", "fails", "shown"),
    [(True, False, ""), (True, True, "of C++\n"), (False, False, "of C++\n")],
)
def test_native_output_is_hidden(monkeypatch, capfd, start, fails, shown):
    """The output is printed if the block fails, or without `quiet.start`."""
    monkeypatch.setenv("ELU_ZOO_QUIET", "1")
    if not start:
        monkeypatch.delenv("ELU_ZOO_QUIET")
    with contextlib.suppress(OSError), quiet.native():
        os.write(2, b"of C++\n")
        if fails:
            raise OSError
    assert capfd.readouterr().err == shown


@pytest.fixture
def log(monkeypatch, capsys):
    """A function that logs a record as if from a file and returns the stderr output."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(quiet, "_import_tensorflow", lambda: None)
    monkeypatch.setenv("ELU_ZOO_QUIET", "")  # restored by pytest

    def log(path, level, *arguments, cause=None):
        quiet.start()
        raised = (type(cause), cause, None) if cause else None
        logging.getLogger().handle(
            logging.LogRecord("any", level, str(path), 7, *arguments, raised)
        )
        return capsys.readouterr().err

    return log


OURS, KERAS = Path(zoo.__file__), Path(keras.__file__)


@pytest.mark.parametrize(
    ("path", "level", "expected"),
    [
        (OURS, logging.INFO, "a 1\n"),
        (OURS, logging.WARNING, "warning: a 1\n"),
        (OURS, logging.ERROR, "warning: a 1\n"),
        (KERAS, logging.INFO, ""),
        (KERAS, logging.WARNING, ""),
        (KERAS, logging.ERROR, "warning: a 1\n"),
        ("/home/me/units.py", logging.INFO, "a 1\n"),
        ("/home/me/units.py", logging.WARNING, "warning: a 1\n"),
    ],
)
def test_lines_depend_on_origin_and_level(log, path, level, expected):
    assert log(path, level, "a %d", (1,)) == expected


@pytest.mark.parametrize(
    ("path", "expected"), [(KERAS, ""), ("/home/me/units.py", "warning: 100 % odd\n")]
)
def test_python_warnings_of_packages_are_hidden(log, capsys, path, expected):
    log(OURS, logging.INFO, "", ())
    warnings.showwarning("100 % odd", FutureWarning, str(path), 3)
    assert capsys.readouterr().err == expected


def test_an_installed_elu_zoo_is_not_hidden(log, monkeypatch):
    folder = Path("/venv/site-packages/elu_zoo")
    monkeypatch.setattr(quiet, "_OURS", folder)
    assert log(folder / "data/load.py", logging.INFO, "a", ()) == "a\n"
    assert log(folder.parent / "other/own.py", logging.INFO, "a", ()) == ""


def test_control_characters_are_replaced(log):
    line = log(OURS, logging.INFO, "class \x1b[31m%s\nsecond", ("\udce9",))
    assert line == "class \ufffd[31m\ufffd\nsecond\n"


def test_the_line_of_an_error_has_its_cause(log):
    line = log(OURS, logging.ERROR, "Failed.", (), cause=OSError("no disk"))
    assert line == "warning: Failed. OSError: no disk\n"
