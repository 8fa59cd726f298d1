"""Puts tools/ on sys.path, as for its scripts."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tools"))
