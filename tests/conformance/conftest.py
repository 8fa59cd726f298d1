import sys
from pathlib import Path

# The table is a plain module beside the tests, which are not packages.
sys.path.insert(0, str(Path(__file__).parent))
