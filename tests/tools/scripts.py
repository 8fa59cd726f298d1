"""Scripts of tools/, which are loaded once because flags can be defined only once."""

import importlib.util
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"


def load(name):
    specification = importlib.util.spec_from_file_location(f"tool_{name}", TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


release_weights = load("release_weights")
results_table = load("results_table")
