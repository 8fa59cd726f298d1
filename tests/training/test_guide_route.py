"""The list of functions in the training guide, compared with imports and calls of a run."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from readmes import ROOT, TEXTS
from test_import_ranks import imports, module_name

from elu_zoo import registry

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


def imported(path):
    """Returns what a file imports, in functions too, also through packages."""
    names = set(imports(ast.parse((ROOT / path).read_text())))
    packages = {name.rpartition(".")[0].replace(".", "/") for name in names}
    for package in packages:
        if (ROOT / package / "__init__.py").is_file() and package != "elu_zoo":
            names |= set(imports(ast.parse((ROOT / package / "__init__.py").read_text())))
    return names | {name.rpartition(".")[0] for name in names}


def test_the_walk_through_a_run_has_few_files_each_imported_by_another():
    # A config and a command are named by the user, and a network by the config.
    config, command, *files = [path for path, _ in ROUTE]
    assert 5 <= len({config, command, *files}) == len(ROUTE) <= 13
    found = {registry.network_modules()["mnist_mlp_8x128"]}
    for path in (command, *files):
        found |= imported(path) - {module_name(ROOT / path)}
    assert {module_name(ROOT / path) for path in files} <= found


@pytest.mark.slow
def test_a_run_calls_the_listed_functions_in_order(tmp_path):
    arguments = "--config=quickstart:smoke=True", f"--workdir={tmp_path}"
    arguments += "--config.train.epochs=1", "--compile=off"
    process = subprocess.run(
        [sys.executable, "-c", TRACED, *arguments],
        capture_output=True, text=True, check=True, cwd=tmp_path
    )  # fmt: skip
    lines = [line.split() for line in process.stdout.splitlines()]
    called = [(str(Path(x[1]).resolve()), x[2]) for x in lines if x[:1] == ["called"]]  # a link
    positions = [called.index((str(ROOT / path), name)) for path, name in ROUTE]
    assert positions == sorted(positions)
