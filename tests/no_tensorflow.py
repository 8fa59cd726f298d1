"""Runs a script as if TensorFlow were not installed, for tests of other backends.

python no_tensorflow.py SCRIPT ARGUMENT...
"""

import runpy
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_find_spec = PathFinder.find_spec


def find_spec(name, path=None, target=None):
    """Finds a module as `PathFinder` does, but never TensorFlow."""
    if name.partition(".")[0] == "tensorflow":
        return None
    return _find_spec(name, path, target)


if __name__ == "__main__":
    PathFinder.find_spec = find_spec
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
    assert "tensorflow" not in sys.modules
