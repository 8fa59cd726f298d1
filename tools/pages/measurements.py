"""Rows of the CSV files in configs/results/."""

import dataclasses
from pathlib import Path

from elu_zoo import results
from elu_zoo.benchmark import report

FOLDER = Path("configs") / "results"  # in the repository


@dataclasses.dataclass(frozen=True)
class Measurements:
    """Rows of the CSV files, in the order in which `read` reads the files."""

    runs: list[results.Row]
    paper: list[results.Row]
    claims: list[results.Row]
    faults: list[results.Row]
    small_exports: list[results.Row]
    changes: list[results.Row]
    strategies: list[results.Row]
    digits: list[results.Row]
    comparison: list[results.Row]
    tuning: list[results.Row]
    trials: list[results.Row]
    times: list[report.Row]


def read(root: Path) -> Measurements:
    """Reads the CSV files of a repository."""
    folder = root / FOLDER
    names = (
        "results",
        "paper",
        "claims",
        "reliability",
        "small_exports",
        "image_changes",
        "strategies",
        "digits",
        "compare/compare",
        "compare/tuning",
        "trials",
    )
    tables = (results.read_file(folder / f"{name}.csv") for name in names)
    return Measurements(*tables, times=report.read(folder / "benchmark.csv"))
