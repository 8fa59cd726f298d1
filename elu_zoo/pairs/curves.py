"""Rows of a finished run: one row for each epoch or each group of iterations."""

from pathlib import Path
from typing import Any

import numpy as np

from elu_zoo import files
from elu_zoo.training import result
from elu_zoo.training.record import observers

Row = dict[str, Any]
_ALL_UNTIL, _THEN_EVERY = 50, 5  # epochs, dense enough for a figure


def epochs(workdir: Path) -> list[Row]:
    """Returns rows of metrics.jsonl: epochs 1 to 50, then every fifth, and the last.

    The last row also has the measures of the test images, named `test_...`.
    """
    rows = files.read_rows(workdir / "metrics.jsonl")
    rows[-1] |= final(workdir)
    last = rows[-1]["epoch"]
    return [
        row
        for row in rows
        if row["epoch"] <= _ALL_UNTIL or row["epoch"] % _THEN_EVERY == 0 or row["epoch"] == last
    ]


def final(workdir: Path) -> Row:
    """Returns the measures of the test images (`test_...`) at the end of a run."""
    metrics = result.find(workdir)["metrics"]
    return {k: v for k, v in metrics.items() if k.startswith("test_")}


def iterations(workdir: Path, every: int) -> list[Row]:
    """Returns means of training losses and the rows of test.jsonl, in order of steps.

    Args:
        workdir: folder of a run with the observer `Losses`.
        every: number of iterations whose losses are averaged; the last may be fewer.
    """
    losses = observers.read_losses(workdir)
    rows: dict[int, Row] = {}
    for start in range(0, len(losses), every):
        part = losses[start : start + every]
        rows[start + len(part)] = {"train_loss": float(part.mean(dtype=np.float64))}
    for row in observers.read_rows(workdir):
        rows.setdefault(row["step"], {}).update(row)
    return [{"step": step} | rows[step] for step in sorted(rows)]
