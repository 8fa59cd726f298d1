"""tools/reliability.py with a few faults."""

import subprocess
import sys
from pathlib import Path

import pytest

from elu_zoo import results

TOOL = Path(__file__).parents[2] / "tools" / "reliability.py"


def trials(path, kills, corruptions):
    """Runs the tool, which fails if a promise is broken; returns the trials by promise."""
    command = [sys.executable, TOOL, f"--kills={kills}", f"--csv={path}"]
    command += [f"--corruptions={corruptions}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    (row,) = results.read_file(path)
    counts = {promise: text.split(" of ") for promise, text in row.items()}
    assert all(kept == tried for kept, tried in counts.values())
    return {promise: int(tried) for promise, (_, tried) in counts.items()}


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.data("cifar10")
def test_runs_survive_all_faults(tmp_path):
    tried = trials(tmp_path / "counts.csv", 6, 10)
    assert len(tried) == 5 and tried["kills that lost at most 10 iterations"] == 6
