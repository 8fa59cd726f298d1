import sys
from pathlib import Path

# The tests import rows.py, which is not in a package.
sys.path.insert(0, str(Path(__file__).parent))
