"""The packages of tools/ are found as when its scripts are run."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tools"))
