"""Puts the numbers of configs/results.csv into README.md.

python tools/results_table.py           writes the tables
python tools/results_table.py --check   fails where they are not up to date
"""

import csv
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from absl import app, flags

from elu_zoo import files

_ROOT = Path(__file__).resolve().parent.parent
_CHECK = flags.DEFINE_bool("check", False, "Write nothing; exit 1 if out of date.")
_BEGIN = "<!-- results: begin (tools/results_table.py) -->"
_END = "<!-- results: end -->"
_ORDER = ["elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu"]


def table(rows: list[dict[str, str]]) -> str:
    """Returns one Markdown row for each config, activation and normalisation."""
    groups = defaultdict(list)
    for row in rows:
        key = row["config"], row["dataset"], row["batch_norm"], row["activation"]
        groups[key].append(row)
    lines = [
        "| config | data | activation | runs | test error | training loss | schedule |",
        "|---|---|---|---|---|---|---|",
    ]
    place = {name: index for index, name in enumerate(_ORDER)}
    for key in sorted(groups, key=lambda k: (*k[:3], place.get(k[3], 99), k[3])):
        config, dataset, batch_norm, activation = key
        runs = groups[key]
        name = activation + " + batch norm" * (batch_norm == "True")
        shares = {f"{r['schedule']}, {float(r['schedule_share']):.0%}" for r in runs}
        losses = statistics.mean(float(r["train_loss"]) for r in runs)
        lines.append(
            f"| {config} | {dataset} | {name} | {len(runs)} | "
            f"{error(runs)} | {losses:.3g} | {' / '.join(sorted(shares))} |"
        )
    return "\n".join(lines)


def error(runs: list[dict[str, str]]) -> str:
    """Returns what the runs measure on the test images, with its unit."""
    if runs[0].get("test_squared_error"):
        return spread([float(r["test_squared_error"]) for r in runs]) + ", squared"
    return spread([float(r["test_error_percent"]) for r in runs]) + " %"


def spread(values: list[float]) -> str:
    """Returns `mean ± standard deviation`, or the value of a single run."""
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"


def updated(readme: str, rows: list[dict[str, str]]) -> str:
    """Returns the README with its table made anew."""
    before, _, rest = readme.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{table(rows)}\n{_END}{after}"


def main(argv: list[str]) -> None:
    path = _ROOT / "README.md"
    text = (_ROOT / "configs" / "results.csv").read_text()
    old = path.read_text()
    new = updated(old, list(csv.DictReader(text.splitlines())))
    if _CHECK.value:
        sys.exit("README.md is not up to date." if new != old else 0)
    files.write_bytes(path, new.encode())


if __name__ == "__main__":
    app.run(main)
