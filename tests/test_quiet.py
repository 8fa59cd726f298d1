"""Output on stderr of a command and of its worker processes."""

import contextlib
import importlib
import importlib.util
import logging
import os
import subprocess
import sys
import warnings

import pytest

import elu_zoo
from elu_zoo import quiet, zoo


@pytest.mark.parametrize(("start", "shown"), [("1", ""), (None, "of C++\n")])
def test_native_output_is_hidden_after_the_start(monkeypatch, capfd, start, shown):
    monkeypatch.setattr(quiet, "start", lambda: pytest.fail("started"))
    monkeypatch.delenv("ELU_ZOO_QUIET", raising=False)
    quiet.follow()
    if start:
        monkeypatch.setenv("ELU_ZOO_QUIET", start)
    with contextlib.suppress(OSError), quiet.native():
        os.write(2, b"of C++\n")
        raise OSError
    os.write(2, b"after")
    assert capfd.readouterr().err == shown + "after"


@pytest.mark.parametrize("level", [None, "0"])
def test_the_import_sets_the_level_of_tensorflows_messages_unless_it_is_set(monkeypatch, level):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", level or "")
    if level is None:
        monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL")
    importlib.reload(elu_zoo)
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == (level or "2")


@pytest.fixture
def log(monkeypatch, capsys):
    """A function that logs a record as if from a file and returns the stderr output."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setenv("ELU_ZOO_QUIET", "")  # restored by pytest

    def log(path, level, text, cause=None):
        quiet.start()
        raised = (type(cause), cause, None) if cause else None
        record = logging.LogRecord("any", level, str(path), 7, text, (1,), raised)
        logging.getLogger().handle(record)
        return capsys.readouterr().err

    return log


CHILD = """
import logging
from elu_zoo import quiet
quiet.follow()
import tensorflow
logging.getLogger("absl").warning("a child's %s", "words")
"""


@pytest.mark.slow
def test_a_child_of_a_filtered_process_prints_messages_of_elu_zoo_only(monkeypatch, log):
    monkeypatch.delenv("ELU_ZOO_QUIET")
    log(zoo.__file__, logging.INFO, "%d")  # starts the filter
    command = [sys.executable, "-c", CHILD]
    child = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert child.stderr == "warning: a child's words\n"


INSTALLED = "/venv/lib/python3.13/site-packages/{}"
KERAS = INSTALLED.format("keras/layers.py")


@pytest.mark.parametrize(
    ("path", "level", "text", "expected"),
    [
        (zoo.__file__, logging.WARNING, "a %d", "warning: a 1\n"),
        (INSTALLED.format("elu_zoo/zoo.py"), logging.INFO, "a %d", "a 1\n"),
        (f"/home/me/elu_zoo{KERAS}", logging.WARNING, "a %d", ""),
        (KERAS, logging.ERROR, "a %d", "warning: a 1\n"),
        ("/home/me/units.py", logging.INFO, "a %d", "a 1\n"),
        (zoo.__file__, logging.INFO, "class \x1b[31m%d\nb", "class \ufffd[31m1\nb\n"),
    ],
)
def test_lines_depend_on_origin_and_level(log, path, level, text, expected):
    assert log(path, level, text) == expected


def test_an_error_has_its_cause_and_python_warnings_are_hidden(log, capsys):
    line = log(zoo.__file__, logging.ERROR, "Failed %d.", OSError("no disk"))
    assert line == "warning: Failed 1. OSError: no disk\n"
    warnings.showwarning("odd", RuntimeWarning, "keras.py", 1)
    assert capsys.readouterr().err == ""
