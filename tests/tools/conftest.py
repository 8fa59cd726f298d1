"""Adds tools/ to sys.path, as Python does when it runs a script of tools/."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tools"))
