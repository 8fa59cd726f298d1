"""Runs a script as if TensorFlow were not installed, for tests of other backends.

python no_tensorflow.py SCRIPT ARGUMENT...
"""

import runpy
import sys
from pathlib import Path


class NoTensorFlow:
    """A module finder that raises an error for every import of TensorFlow."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tensorflow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    sys.meta_path.insert(0, NoTensorFlow())
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
    assert "tensorflow" not in sys.modules
