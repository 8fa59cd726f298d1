"""What `import elu_zoo` and `--help` load: neither Keras nor TensorFlow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import elu_zoo

BINARIES = sorted(
    path.stem
    for path in Path(elu_zoo.__file__).with_name("bin").glob("*.py")
    if path.stem not in ("__init__", "flags", "config", "table")
)
OWN_FLAGS = {
    "train": "--config",
    "benchmark": "--parts",
    "serve": "--model_base_path",
    "reproduce": "--budget",
}
CASES = {
    "elu_zoo": "import elu_zoo",
    "dir": "import elu_zoo; dir(elu_zoo)",
    **{
        name: f"import sys; sys.argv = ['{name}', '--help']\n"
        f"from elu_zoo.bin import {name}\n{name}.run()"
        for name in BINARIES
    },
}
# Each case starts in a process of its own, forked before anything is imported.
DRIVER = """
import contextlib, io, json, os, sys, time
for name, code in json.loads(sys.argv[1]).items():
    sys.stdout.flush()
    if os.fork():
        os.wait()
        continue
    start, out, exit_code = time.perf_counter(), io.StringIO(), 0
    with contextlib.redirect_stdout(out):
        try:
            exec(code, {})
        except SystemExit as stop:
            exit_code = stop.code or 0
    slow = ("tensorflow", "keras", "jax", "tensorflow_datasets", "matplotlib", "scipy")
    loaded = [module for module in slow if module in sys.modules]
    seconds = time.perf_counter() - start
    print(json.dumps([name, exit_code, loaded, out.getvalue(), seconds]), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def started():
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(CASES)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for name, *_, seconds in rows:
        print(f"{name}: {seconds:.2f} s")
    return {name: rest for name, *rest in rows}


@pytest.mark.parametrize("name", CASES)
def test_nothing_slow_is_imported(started, name):
    exit_code, loaded, _, _ = started[name]
    assert (exit_code, loaded) == (0, [])


@pytest.mark.parametrize("name", BINARIES)
def test_help_names_the_binary_and_all_of_its_flags(started, name):
    text = started[name][2]
    assert f"elu-zoo-{name} " in text
    own = OWN_FLAGS.get(name, "--weights")
    for flag in "--[no]debug", own:
        assert flag in text
