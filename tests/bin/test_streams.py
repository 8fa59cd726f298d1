"""Binaries whose standard streams are closed, full, without a reader, or ASCII."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import subprocess
import sys
from absl import logging
from elu_zoo import errors, quiet
from elu_zoo.bin import flags

quiet.start = lambda: None  # takes seconds

def main(argv):
    for i in range(100):
        logging.warning("message %d: %s", i, "." * 80)
        print("progress", file=sys.stderr, flush=True)
    opened = open("data", "w")  # may get the descriptor of a closed stream
    if argv[1:] == ["child"]:
        code = "import os; file = open('data', 'a'); os.write(2, b'message')"
        subprocess.run([sys.executable, "-c", code])
    logging.warning("after")
    print("result", "\\N{SNOWMAN}", flush=True)
    if argv[1:] == ["fail"]:
        raise errors.DataError("no data \\N{SNOWMAN}")
    if argv[1:] == ["memory"]:
        raise type("ResourceExhaustedError", (Exception,), {})("OOM")  # TensorFlow's name
    return 1 if argv[1:] == ["one"] else 0

flags.binary(main, lambda argv: None)()
"""
FAILURE = "error: no data"


@pytest.fixture
def run(tmp_path):
    """A function that runs SCRIPT and returns its exit code, stdout and stderr."""
    (tmp_path / "script.py").write_text(SCRIPT)

    def run(redirections="", argument="", **environment):
        command = f"{sys.executable} script.py {argument} {redirections}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            capture_output=True,
            timeout=120,
            env={**os.environ, "KERAS_BACKEND": "jax", **environment},
        )
        assert b"Traceback" not in done.stderr, done.stderr
        assert (tmp_path / "data").read_bytes() == b""  # without a message
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


@pytest.mark.parametrize(
    ("redirection", "argument", "code"),
    [
        ("2>&-", "child", 0),
        ("2>/dev/full", "one", 1),
        ("2> >(:)", "fail", 1),
        ("<&- 2>&-", "fail", 1),
    ],
)
def test_messages_that_cannot_be_written_are_dropped(run, redirection, argument, code):
    assert run(redirection, argument) == (code, "result \N{SNOWMAN}\n", "")


@pytest.mark.parametrize(
    ("redirection", "argument", "code"),
    [(">&-", "", 0), ("> >(true)", "one", 1), ("2>&1 | head -n 1 > head", "", 0)],
)
def test_results_without_a_reader_are_dropped(run, redirection, argument, code):
    exit_code, out, error = run(f"{redirection}; exit ${{PIPESTATUS[0]}}", argument)
    assert (exit_code, out, "error" in error) == (code, "", False)


def test_results_on_a_full_disk_fail(run):
    code, out, error = run("> /dev/full")
    assert code == 1 and error.splitlines()[-1].startswith("error: [Errno 28]")


@pytest.mark.parametrize("argument", ["", "fail"])
def test_characters_outside_ascii_are_escaped(run, argument):
    ascii_only = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    code, out, error = run("", argument, **ascii_only)
    assert (code, out) == (bool(argument), "result \\u2603\n")
    if argument:
        assert error.splitlines()[-1] == FAILURE + " \\u2603"


def test_a_full_device_has_a_remedy(run):
    code, _, messages = run("", "memory")
    assert code == 1 and "--accumulate" in messages
