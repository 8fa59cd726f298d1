"""`import elu_zoo`, `--help` and early errors import neither Keras nor TensorFlow."""

import json
import os
import re
import subprocess
import sys

import pytest
import test_import_ranks

BINARIES = [path.stem for path in test_import_ranks.BINARIES]
MLP, MNIST = "--model=mnist_mlp_8x128", "--weights=mnist"
# Command lines with a missing file, folder or name, and the error.
EARLY_ERRORS = [
    ("train --config=nothing/x.py", "no config file nothing/x.py"),
    ("train --config=finetune:weights=nothing.weights.h5", "no file nothing.weights"),
    ("train --config=quickstart --config.model.name=nett", "Unknown model 'nett'"),
    ("train --config=quickstart --data=mnist5k", "Unknown data set 'mnist5k'"),
    (f"evaluate {MLP} --weights=mnits --data=mnist", "Unknown weights of mnist_mlp"),
    (f"predict {MLP} {MNIST} nothing.png", "nothing.png does not exist"),
    ("reproduce fig99", "Unknown experiment 'fig99'"),
    ("serve --model_base_path=nothing", "no folder nothing"),
    ("benchmark --models=nett", "Unknown model 'nett'"),
]


def program(line):
    name = line.partition(" ")[0]
    return f"import sys; sys.argv = {line.split()}\nfrom elu_zoo.bin import {name}\n{name}.run()"


CASES = {
    "elu_zoo": "import elu_zoo",
    "dir": "import elu_zoo; dir(elu_zoo)",
    **{name: program(f"{name} --help") for name in BINARIES},
    **{line: program(line) for line, _ in EARLY_ERRORS},
}
# Runs each case in a forked process, so that the cases share these imports.
DRIVER = """
import contextlib, io, json, os, sys
import absl.app, absl.logging, ml_collections.config_flags, numpy
for name, code in json.loads(sys.argv[1]).items():
    sys.stdout.flush()
    if os.fork():
        os.wait()
        continue
    out, exit_code = io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            exec(code, {})
        except SystemExit as stop:
            exit_code = stop.code or 0
    slow = ("tensorflow", "keras", "jax", "tensorflow_datasets", "matplotlib", "pandas", "scipy")
    loaded = [module for module in slow if module in sys.modules]
    print(json.dumps([name, exit_code, loaded, out.getvalue()]), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    command = [sys.executable, "-c", DRIVER, json.dumps(CASES)]
    folder = tmp_path_factory.mktemp("empty")  # without a run, whose data are not checked early
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    assert process.returncode == 0, process.stderr
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    return {name: outcome for name, *outcome in rows}


@pytest.mark.parametrize("name", ["elu_zoo", "dir", *BINARIES])
def test_imports_and_help_load_no_slow_package(started, name):
    exit_code, loaded, text = started[name]
    assert (exit_code, loaded) == (0, [])
    if name in BINARIES:
        assert f"elu-zoo-{name} " in text and "--[no]debug" in text


@pytest.mark.parametrize(("line", "message"), EARLY_ERRORS)
def test_early_errors_load_no_slow_package(started, line, message):
    exit_code, loaded, text = started[line]
    assert (exit_code, loaded) == (2, []) and message in text


@pytest.mark.parametrize(
    ("backend", "code", "words"),
    [
        ("jax", "elu_zoo.get_model", 'ModuleNotFoundError: .*pip install "elu-zoo.jax."'),
        ("jaxx", program("models"), "error: Unknown KERAS_BACKEND 'jaxx'. Did you mean 'jax'"),
    ],
)
def test_a_missing_backend_is_named_in_python_and_by_a_command(backend, code, words):
    script = (
        "import importlib.util as u; find = u.find_spec; import elu_zoo; find('keras')\n"
        f"u.find_spec = lambda name, *rest: None if name == '{backend}' else find(name, *rest)\n"
    )
    command = [sys.executable, "-c", script + code]
    environment = {**os.environ, "KERAS_BACKEND": backend}
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert re.match(words, process.stderr.splitlines()[-1])
