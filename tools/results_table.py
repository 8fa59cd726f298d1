"""Puts the numbers of configs/ into README.md: results beside the paper's, and speed.

python tools/results_table.py           writes the tables
python tools/results_table.py --check   fails where they are not up to date
"""

import csv
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from absl import app, flags

from elu_zoo import errors, files
from elu_zoo.benchmark import report

_ROOT = Path(__file__).resolve().parent.parent
_CHECK = flags.DEFINE_bool("check", False, "Write nothing; exit 1 if out of date.")
_MARKS = "<!-- {}: begin (tools/results_table.py) -->", "<!-- {}: end -->"
_SPEED = (
    *("machine", "step", "unit", "memory", "op", "schraudolph", "inference"),
    "start_up",
)
_ORDER = ["elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu"]


Rows = list[dict[str, str]]


def table(rows: Rows, paper: Rows) -> str:
    """Returns one Markdown row for each config, activation and normalisation.

    Args:
        rows: of configs/results.csv.
        paper: of configs/paper.csv, the paper's own figures.
    """
    groups = defaultdict(list)
    for row in rows:
        key = row["config"], row["dataset"], row["batch_norm"], row["activation"]
        groups[key].append(row)
    lines = [
        "| config | data | activation | runs | test error | the paper's | "
        "training loss | schedule |",
        "|---|---|---|---|---|---|---|---|",
    ]
    place = {name: index for index, name in enumerate(_ORDER)}
    for key in sorted(groups, key=lambda k: (*k[:3], place.get(k[3], 99), k[3])):
        config, dataset, batch_norm, activation = key
        runs = groups[key]
        name = activation + " + batch norm" * (batch_norm == "True")
        schedules = {schedule(run) for run in runs}
        losses = statistics.mean(float(r["train_loss"]) for r in runs)
        lines.append(
            f"| {config} | {dataset} | {name} | {len(runs)} | "
            f"{error(runs)} | {published(runs[0], paper)} | {losses:.3g} | "
            f"{' / '.join(sorted(schedules))} |"
        )
    return "\n".join(lines)


def error(runs: Rows) -> str:
    """Returns what the runs measure on the test images, with its unit."""
    if runs[0].get("test_squared_error"):
        return spread([float(r["test_squared_error"]) for r in runs]) + ", squared"
    return spread([float(r["test_error_percent"]) for r in runs]) + " %"


def schedule(run: dict[str, str]) -> str:
    """Returns whose schedule a run followed, how long, and what share of it that is."""
    share = float(run["schedule_share"])
    part = f" ({share:.0%} of it)" if share < 1 else ""
    return f"{run['schedule']}, {run['epochs']} epochs{part}"


def published(run: dict[str, str], paper: Rows) -> str:
    """Returns the paper's own figure for what a run is, "" where it has none."""
    same = "model", "dataset", "activation", "batch_norm"
    for row in paper:
        if all(run[key] == row[key] for key in same):
            deviation = row["standard_deviation"]
            spread = f" ± {deviation}" if deviation else ""
            return f"{row['test_error_percent']}{spread} %"
    return ""


def spread(values: list[float]) -> str:
    """Returns `mean ± standard deviation`, or the value of a single run."""
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"


def speed(part: str, rows: list[report.Row]) -> str:
    """Returns what was measured of a part of the benchmark, in Markdown.

    Args:
        part: `machine`, `schraudolph`, or a part of elu-zoo-benchmark.
        rows: of configs/benchmark.csv.
    """
    if part == "machine":
        return f"Measured on: {rows[0].machine}."
    if part == "schraudolph":
        found = {row.form: row for row in rows if row.unit == "largest error"}
        ours, other = found["ours, XLA"], found["Schraudolph's exponential, XLA"]
        return (
            f"Largest errors: ours {ours.value:.1g}, Schraudolph's {other.value:.1g}."
        )
    chosen = [r for r in rows if r.part == part and r.unit in ("ms", "MiB")]
    # Of the smaller tensors the file tells.
    largest = [row for row in chosen if "1e7" in row.case]
    return report.markdown(largest if part == "op" else chosen)


def between(text: str, name: str, content: str) -> str:
    """Returns a text with what stands between the marks of a name made anew."""
    begin, end = (mark.format(name) for mark in _MARKS)
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise errors.UsageError(f"README.md has no marks {begin} and {end}.")
    return f"{before}{begin}\n{content}\n{end}{after}"


def updated(readme: str, rows: Rows, paper: Rows, times: list[report.Row]) -> str:
    """Returns the README with its tables made anew."""
    readme = between(readme, "results", table(rows, paper))
    for part in _SPEED:
        readme = between(readme, part, speed(part, times))
    return readme


def main(argv: list[str]) -> None:
    path = _ROOT / "README.md"
    rows, paper = (
        list(csv.DictReader((_ROOT / "configs" / name).read_text().splitlines()))
        for name in ("results.csv", "paper.csv")
    )
    times = report.read(_ROOT / "configs" / "benchmark.csv")
    old = path.read_text()
    new = updated(old, rows, paper, times)
    if _CHECK.value:
        sys.exit("README.md is not up to date." if new != old else 0)
    files.write_bytes(path, new.encode())


if __name__ == "__main__":
    app.run(main)
