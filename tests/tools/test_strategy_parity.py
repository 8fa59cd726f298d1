"""tools/strategy_parity.py trains in each way; slow, because it starts processes."""

import csv
import subprocess
import sys

import pytest
from scripts import TOOLS


@pytest.mark.slow
def test_each_way_of_training_has_a_row(tmp_path):
    for package in ("jax", "mlxtend"):
        pytest.importorskip(package)
    script, path = TOOLS / "strategy_parity.py", tmp_path / "rows.csv"
    flags = "--configs=quickstart", "--seeds=1", "--epochs=1", f"--folder={tmp_path}"
    command = [sys.executable, script, *flags, f"--output_csv={path}"]
    subprocess.run(command, check=True)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [(row["strategy"], row["replicas"], row["backend"]) for row in rows] == [
        ("one", "1", "tensorflow"),
        ("mirrored", "2", "tensorflow"),
        ("multi_worker", "2", "tensorflow"),
        ("one", "1", "jax"),
    ]
    losses = [float(row["train_loss"]) for row in rows]
    assert losses == pytest.approx([losses[0]] * 4, rel=1e-4)
