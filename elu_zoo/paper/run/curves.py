"""What a finished run's folder says of its way, as rows."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from elu_zoo.training import recorder, result
from elu_zoo.training.activation_statistics import Statistics

Row = dict[str, Any]
_ALL_UNTIL, _THEN_EVERY = 50, 5  # epochs; a figure shows no more


def epochs(workdir: Path) -> list[Row]:
    """Returns the rows of metrics.jsonl, after epoch 50 every fifth, and the last.

    The last row has the measures of the test images, `test_...`, as well.
    """
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    rows[-1] |= final(workdir)
    last = rows[-1]["epoch"]
    return [row for row in rows if is_kept(row["epoch"], last)]


def is_kept(epoch: int, last: int) -> bool:
    """Whether an epoch of a run of `last` epochs is a point of its curve."""
    return epoch <= _ALL_UNTIL or epoch % _THEN_EVERY == 0 or epoch == last


def final(workdir: Path) -> Row:
    """Returns what the run's weights measure on the test images, `test_...`."""
    metrics = result.find(workdir)["metrics"]
    return {k: v for k, v in metrics.items() if k.startswith("test_")}


def iterations(workdir: Path, every: int) -> list[Row]:
    """Returns the training loss over iterations, and the rows of test.jsonl.

    Args:
        workdir: of a run that kept losses.
        every: iterations over which a loss is the mean; what remains is the last.
    """
    losses = recorder.read_losses(workdir)
    rows: dict[int, Row] = {}
    for start in range(0, len(losses), every):
        part = losses[start : start + every]
        rows[start + len(part)] = {"train_loss": float(part.mean(dtype=np.float64))}
    for row in recorder.read_rows(workdir):
        rows.setdefault(row["step"], {}).update(row)
    return [{"step": step} | rows[step] for step in sorted(rows)]


def activations(workdir: Path) -> dict[int, Statistics]:
    """Returns the units' statistics by epoch, 0 for the initial weights."""
    folder = workdir / recorder.ACTIVATIONS
    return {
        int(path.stem.removeprefix("epoch-")): Statistics.load(path)
        for path in sorted(folder.glob("epoch-*.npz"))
    }
