"""The list of functions in the training guide, compared with the calls of a run."""

import re
import subprocess
import sys

import pytest
from readmes import ROOT, TEXTS

ITEM = re.compile(r"^\d+\. `([\w/]+\.py)` `(\w+)`: .+$", re.MULTILINE)
ROUTE = ITEM.findall(TEXTS["elu_zoo/training/README.md"])
# A script that trains, and prints the file and name of each function at its first call.
TRACED = """
import os
import sys
from elu_zoo.bin import train
traced = set()
def trace(frame, event, _):
    code = frame.f_code
    if event == "call" and code not in traced:
        traced.add(code)
        # `print` would fail here because the run replaces the standard streams.
        os.write(1, f"called {code.co_filename} {code.co_name}\\n".encode())
sys.argv[0] = "elu-zoo-train"
sys.settrace(trace)
train.run()
"""


@pytest.mark.slow
def test_a_run_calls_the_listed_functions_in_order(tmp_path):
    assert 5 <= len({path for path, _ in ROUTE}) == len(ROUTE) <= 15
    assert [path for path, _ in ROUTE if not (ROOT / path).is_file()] == []
    arguments = "--config=quickstart:smoke=True", f"--workdir={tmp_path}"
    arguments += "--config.train.epochs=1", "--compile=off"
    process = subprocess.run(
        [sys.executable, "-c", TRACED, *arguments],
        capture_output=True, text=True, check=True, cwd=tmp_path
    )  # fmt: skip
    lines = [line.split() for line in process.stdout.splitlines()]
    called = [(line[1], line[2]) for line in lines if line[:1] == ["called"]]
    positions = [called.index((str(ROOT / path), name)) for path, name in ROUTE]
    assert positions == sorted(positions)
