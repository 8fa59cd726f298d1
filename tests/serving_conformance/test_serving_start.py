"""Failed starts of our server: one line and an exit code."""

import json
import socket
import subprocess
import sys

import pytest

served = pytest.importorskip("served")

# Imports TensorFlow once, and forks a process for each start.
STARTS = """
import gc, json, os, sys
from elu_zoo import quiet
from elu_zoo.bin import serve
quiet.start()
from elu_zoo.serving import server

gc.freeze()  # a process that ends does not collect TensorFlow's objects
for name, arguments in json.loads(sys.stdin.read()).items():
    process = os.fork()
    if not process:
        errors = os.open(name, os.O_CREAT | os.O_WRONLY)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        sys.argv[1:] = arguments
        serve.run()
    print(name, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""
CASES = {
    "missing": (2, "There is no folder"),
    "no version": (2, "holds no model"),
    "broken": (1, "cannot be served"),
    "rest port taken": (1, "--rest_api_port"),
    "unknown flag": (2, "nope"),
    "batch of none": (2, "max_batch_size"),
    "no folder given": (2, "model_base_path"),
}


@pytest.fixture(scope="module")
def starts(exports, tmp_path_factory):
    """(exit code, output) of each start."""
    folder = tmp_path_factory.mktemp("starts")
    (folder / "other" / "model" / "one").mkdir(parents=True)
    (folder / "bad" / "model" / "1").mkdir(parents=True)
    (folder / "bad" / "model" / "1" / "saved_model.pb").write_bytes(b"no graph")
    models = exports / "mnist_mlp_8x128"
    free = ["--port=0", "--rest_api_port=0"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        arguments = {
            "missing": [f"--model_base_path={folder / 'nope'}", *free],
            "no version": [f"--model_base_path={folder / 'other'}", *free],
            "broken": [f"--model_base_path={folder / 'bad'}", *free],
            "rest port taken": [
                f"--model_base_path={models}", "--port=0", f"--rest_api_port={port}",
            ],
            "unknown flag": [f"--model_base_path={models}", "--nope=1"],
            "batch of none": [f"--model_base_path={models}", "--max_batch_size=0"],
            "no folder given": free,
        }  # fmt: skip
        process = subprocess.run(
            [sys.executable, "-c", STARTS],
            input=json.dumps(arguments),
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=120,
        )
    assert process.returncode == 0, process.stderr[-2000:]
    codes = (line.rpartition(" ") for line in process.stdout.splitlines())
    return {name: (int(code), (folder / name).read_text()) for name, _, code in codes}


@pytest.mark.parametrize("case", CASES)
def test_a_start_that_fails(starts, case):
    (expected, text), (code, output) = CASES[case], starts[case]
    lines = [line for line in output.splitlines() if line.startswith("error:")]
    assert code == expected
    assert len(lines) == 1 and text in lines[0]
    assert "Traceback" not in output
