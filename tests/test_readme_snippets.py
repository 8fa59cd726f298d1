"""Runs of the shell and Python snippets of the front page and the guides."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from image_files import fill, jpeg, noise, png
from readmes import FENCES, ROOT

# Installations, tests, the benchmark and `elu-zoo-reproduce all` are skipped. One
# experiment, comparisons, ImageNet's network and a baseline run with smoke settings.
SHELL = f"""
set -euo pipefail
python3() {{ mkdir -p .venv/bin; : > .venv/bin/activate; }}
pip() {{ :; }}
elu-zoo-benchmark() {{ :; }}
python() {{
  if [ "$1" = -m ]; then return; fi
  local script=$1; shift
  command python "{ROOT}/$script" "$@"
}}
elu-zoo-serve() {{
  command elu-zoo-serve "$@" > serve.log 2>&1 &
  echo $! > serve.pid
  for i in $(seq 300); do
    if grep -q REST serve.log; then return; fi
    sleep 0.2
  done
  cat serve.log >&2
  return 1
}}
# The running server looks for new models once a second.
elu-zoo-export() {{ command elu-zoo-export "$@"; sleep 5; }}
elu-zoo-train() {{
  local large=--config=elu_imagenet_15 baseline=--config=table1_baselines:
  set -- "${{@/#$large/$large:smoke=True}}"
  command elu-zoo-train "${{@/#$baseline/${{baseline}}smoke=True,}}"
}}
elu-zoo-compare() {{ command elu-zoo-compare "$@" --budget=smoke --seeds=1 --tune=1; }}
elu-zoo-reproduce() {{
  if [ "$1" = all ]; then return; fi
  command elu-zoo-reproduce "$@" --budget=smoke --seeds=1
}}
"""
STAND_INS = {  # functions that a guide calls
    "wandb.py": b"def init(project, config): ...\ndef log(row, step): print('wandb', step)",
    "mlflow.py": b"log_params = dict\ndef log_metrics(row, step): print('mlflow', step)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the snippets use: photographs and ImageNet."""
    contents = {"my_photo.png": png(noise(64, 67)), **STAND_INS}
    for label, name in enumerate(("cats", "dogs", "owls")):
        for i in range(45):
            pixels = noise(30 + i, 33 + i, 100 * label + i) // 3 + 80 * label
            contents[f"my_photos/{name}/{i}.png"] = png(pixels)
    for split, count in (("train", 60), ("val", 30)):
        for name in ("n01440764", "n01443537"):
            images = {f"{name}/{i}.JPEG": jpeg(noise(40, 43, i)) for i in range(count)}
            contents |= {f"ILSVRC2012/{split}/{path}": image for path, image in images.items()}
    root = fill(tmp_path_factory.mktemp("reader"), contents)
    yield root
    if (root / "serve.pid").exists():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int((root / "serve.pid").read_text()), signal.SIGTERM)


@pytest.fixture(scope="module")
def run(folder):
    """A function that runs a command in `folder`, with elu_zoo's commands on PATH."""
    # All threads, as for a reader: a worker of pytest-xdist leaves one to its commands.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TF_NUM_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment["CUDA_VISIBLE_DEVICES"] = "-1"

    def run(*command):
        process = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1500
        )
        assert process.returncode == 0, process.stderr[-3000:]
        return process.stdout

    return run


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.data("mnist", "cifar10", "cifar100")
def test_snippets_run(run, folder):
    """Shell snippets run first, because Python snippets read their exports."""
    snippets = {kind: [t for k, t in FENCES if k == kind] for kind in ("sh", "python")}
    assert len(snippets["sh"]) >= 5 and len(snippets["python"]) >= 5
    modules = [t for t in snippets["python"] if t.startswith("# my_")]
    for text in modules:
        (folder / text.split()[1]).write_text(text)
    out = run("bash", "-c", SHELL + "\n".join(snippets["sh"]))
    for words in "test error,my_photo.png,isrlu-s0,AVAILABLE,predictions,.weights.h5".split(","):
        assert words in out
    scripts = [t for t in snippets["python"] if t not in modules]
    out = run(sys.executable, "-c", "\n".join([*scripts, "import my_zoo"]))
    assert (folder / "my_photos.keras").is_file() and "(3, 30)" in out
    assert out.count("wandb") == out.count("mlflow") > 0


def test_the_users_activation_and_network_are_short():
    (text,) = [t for _, t in FENCES if t.startswith("# my_zoo.py")]
    parts = re.split(r"^@elu_zoo", text, flags=re.MULTILINE)[1:]
    assert len(parts) == 2
    assert all(len(part.strip().splitlines()) < 20 for part in parts)
