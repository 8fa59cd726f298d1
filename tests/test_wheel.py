"""The wheel, installed into a new virtual environment, also runs the notebook."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elu_zoo.weights import manifest

ROOT = Path(__file__).parents[1]
LIMIT_BYTES = 60_000_000
USE = """
import sys
from importlib import resources
import elu_zoo
from elu_zoo import results
print(elu_zoo.__file__)
(row,) = [row for row in results.read("paper.csv")
          if (row["model"], row["activation"]) == ("elu_cifar_11", "elu")]
print("paper", row["test_error_percent"])
figure = resources.files("elu_zoo.configs").joinpath("results/figures/fig2.png")
print("figure", figure.read_bytes()[:4])
elu_zoo.model_card(sys.argv[1])
"""


def run(*command, **options):
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.slow
def test_the_installed_wheel_has_files_and_commands(tmp_path):
    source, environment = tmp_path / "source", tmp_path / "environment"
    for name in ("elu_zoo", "configs"):
        ignored = shutil.ignore_patterns("__pycache__", "*.svg")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"
    run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, source)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size <= LIMIT_BYTES
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    run(*pip, "--python", environment, "install", "--no-deps", wheel)
    (site_packages,) = environment.glob("lib/python*/site-packages")
    dependencies = [path for path in sys.path if path.endswith("site-packages")]
    (site_packages / "dependencies.pth").write_text("\n".join(dependencies))
    tag = manifest.list_weights("mnist_mlp_8x128*")[0]
    out = run(environment / "bin/python", "-c", USE, tag, cwd=tmp_path)
    module_path, paper, figure, *card = out.splitlines()
    assert module_path == str(site_packages / "elu_zoo/__init__.py")
    assert (paper, figure) == ("paper 28.75", "figure b'\\x89PNG'")
    assert any(tag in line for line in card)
    out = run(environment / "bin/elu-zoo-train", "--help", cwd=tmp_path)
    assert "  --config\n" in out
    cells = json.loads((ROOT / "tour.ipynb").read_text())["cells"]
    tour = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    headless = {**os.environ, "MPLBACKEND": "agg"}
    out = run(environment / "bin/python", "-c", tour, cwd=tmp_path, env=headless, timeout=180)
    assert out.splitlines()[-1] == "[b'7' b'4' b'7'] [7 4 7]"
    assert (tmp_path / "exports/digits/1/saved_model.pb").is_file()
