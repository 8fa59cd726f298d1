"""tools/reliability.py with a few faults."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "reliability.py"


def count_trials(path, kills, corruptions):
    """Runs the tool, and returns the number of trials by fault and promise."""
    done = subprocess.run(
        [
            sys.executable,
            TOOL,
            f"--kills={kills}",
            f"--corruptions={corruptions}",
            f"--output_csv={path}",
        ],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert all(row["tried"] == row["as_promised"] for row in rows)
    return {(row["fault"], row["what"]): int(row["tried"]) for row in rows}


@pytest.mark.slow
def test_damaged_checkpoints_are_skipped(tmp_path):
    tried = count_trials(tmp_path / "reliability.csv", kills=0, corruptions=3)
    # swapped, zeroed, cut at ten lengths, a flipped bit three times
    assert list(tried.values()) == [1 + 1 + 10 + 3]


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.data("cifar10")
def test_runs_survive_all_faults(tmp_path):
    tried = count_trials(tmp_path / "reliability.csv", kills=6, corruptions=10)
    assert {fault for fault, _ in tried} >= {"damage", "kill"}
    kills = {
        what: count
        for (_, what), count in tried.items()
        if what.startswith("kills that lost at most 10 iterations")
    }
    assert len(kills) == 3 and sum(kills.values()) == 6
