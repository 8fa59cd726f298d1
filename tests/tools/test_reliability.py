"""tools/reliability.py with few faults."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "reliability.py"


def figures(path, kills, corruptions):
    """Returns the counts of the tool by fault and kind."""
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
def test_damaged_checkpoints(tmp_path):
    tried = figures(tmp_path / "reliability.csv", kills=0, corruptions=3)
    # Of two files: cut at each tenth, four other damages, three flipped bits.
    assert tried == {
        ("damage", "damaged checkpoints passed over and said"): 2 * 17,
        ("damage", "damaged checkpoints that were not loaded"): 2 * 17,
    }


@pytest.mark.slow
@pytest.mark.data("cifar10")
def test_all_faults(tmp_path):
    tried = figures(tmp_path / "reliability.csv", kills=10, corruptions=10)
    assert {fault for fault, _ in tried} >= {"damage", "stop", "kill"}
    kills = {
        what: count
        for (_, what), count in tried.items()
        if what.startswith("kills that lost at most 5 iterations")
    }
    assert len(kills) == 3 and sum(kills.values()) >= 11
