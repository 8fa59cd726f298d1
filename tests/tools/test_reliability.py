"""tools/reliability.py in short: damaged checkpoints, and with time killed runs."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import results_table

TOOL = Path(__file__).parents[2] / "tools" / "reliability.py"


@pytest.mark.parametrize(
    ("kills", "corruptions"),
    [(0, 12), pytest.param(3, 0, marks=pytest.mark.slow)],
)
def test_figures(tmp_path, kills, corruptions):
    path = tmp_path / "reliability.csv"
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
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(path.read_text().splitlines()))
    tried = {row["what"]: int(row["tried"]) for row in rows}
    assert all(row["tried"] == row["as_promised"] for row in rows)
    if corruptions:
        assert tried == {"damaged checkpoints passed over, and said": corruptions}
    else:
        assert tried["kills that lose no iteration that was saved"] >= kills
        assert tried["killed runs that end bit-identical"] >= 1


def test_survived():
    rows = [
        {"what": "runs", "tried": "3", "as_promised": "2"},
        {"what": "files", "tried": "5", "as_promised": "5"},
    ]
    assert results_table.survived(rows) == "- runs: 2 of 3\n- files: 5 of 5"
