"""tools/reliability.py with a few faults."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "reliability.py"


def trials(kills, corruptions):
    """Runs the tool, which fails if a promise is broken; returns the trials by promise."""
    command = [sys.executable, TOOL, f"--kills={kills}", f"--corruptions={corruptions}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^(.*) (\d+) of (\d+)$", done.stdout, re.MULTILINE)
    assert all(kept == tried for _, kept, tried in lines)
    return {promise: int(tried) for promise, _, tried in lines}


@pytest.mark.slow
def test_damaged_checkpoints_are_skipped():
    # swapped, zeroed, cut at ten lengths, a flipped bit three times
    assert list(trials(0, 3).values()) == [1 + 1 + 10 + 3]


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.data("cifar10")
def test_runs_survive_all_faults():
    tried = trials(6, 10)
    assert len(tried) == 5 and tried["kills that lost at most 10 iterations"] == 6
