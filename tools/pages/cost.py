"""Table of results.md: test errors by the operations and minutes of a training run."""

from collections.abc import Sequence

from elu_zoo import results
from elu_zoo.pairs import tables
from elu_zoo.weights.manifest import Entry
from pages import runs

_TITLES = "network,data,recipe,PFLOP,test error,minutes,machine,command".split(",")


def table(published: Sequence[Entry], airbench: runs.Rows) -> str:
    """Returns a Markdown table of the CIFAR weights and of airbench.csv, by data and PFLOP."""
    found = [_ours(entry) for entry in published if entry["dataset"].startswith("cifar")]
    found += [_theirs(row) for row in airbench]
    found.sort(key=lambda cells: (cells[1], cells[3]))
    lines = []
    for *cells, pflop, error, seconds, machine, command in found:
        numbers = f"{pflop:.2g}", f"{error:.2f} %", f"{seconds / 60:.3g}"
        lines.append((*cells, *numbers, machine, f"`{command}`"))
    return tables.markdown(_TITLES, lines)


def _ours(entry: Entry) -> tuple:
    """Returns the cells of a weight file; its run is the one of its command."""
    name = f"`{entry['model']}`, {entry['arguments']['activation']['name']}"
    cells = name, entry["dataset"], runs.schedule(entry), entry["training_pflop"]
    error, seconds = entry["metrics"]["test_error_percent"], entry["wall_time_seconds"]
    return *cells, error, seconds, entry["hardware"], entry["command"]


def _theirs(row: results.Row) -> tuple:
    numbers = (float(row[key]) for key in ("pflop", "error_percent", "seconds"))
    command = f"python {row['script']}"
    return "airbench", row["dataset"], "theirs", *numbers, row["hardware"], command
