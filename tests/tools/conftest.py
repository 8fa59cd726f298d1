"""Adds tools/ to sys.path, as Python does for the scripts of this folder."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tools"))
