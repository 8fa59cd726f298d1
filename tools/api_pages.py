"""Writes pages of the public API with pdoc.

python tools/api_pages.py site
"""

import importlib
import sys
from pathlib import Path

import pdoc

MODULES = "elu_zoo", "elu_zoo.activations", "elu_zoo.errors", "elu_zoo.layers", "elu_zoo.training"


def main(folder: str) -> None:
    for module in map(importlib.import_module, MODULES):
        for name in getattr(module, "__all__", ()):
            setattr(module, name, getattr(module, name))  # pdoc finds no lazy names
    pdoc.render.configure(docformat="google")
    specs = [spec for name in MODULES for spec in (name, rf"!{name}\.")]
    pdoc.pdoc(*sorted(specs, key=len), output_directory=Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
