"""Measurements: the rows of the CSV files in configs/results/."""

import dataclasses
from pathlib import Path

from elu_zoo import results
from elu_zoo.benchmark import report

FOLDER = Path("configs") / "results"  # of the repository


@dataclasses.dataclass(frozen=True)
class Measurements:
    """Rows of what was measured, each as its CSV file has them.

    Attributes:
        runs: of results.csv, one a finished run.
        paper: of paper.csv, the paper's own numbers.
        claims: of claims.csv.
        faults: of reliability.csv.
        times: of benchmark.csv.
    """

    runs: list[results.Row]
    paper: list[results.Row]
    claims: list[results.Row]
    faults: list[results.Row]
    times: list[report.Row]


def read(root: Path) -> Measurements:
    """Returns the measurements of a repository."""
    folder = root / FOLDER
    names = "results.csv", "paper.csv", "claims.csv", "reliability.csv"
    tables = (results.read_file(folder / name) for name in names)
    return Measurements(*tables, times=report.read(folder / "benchmark.csv"))
