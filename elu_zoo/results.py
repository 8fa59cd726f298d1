"""Rows of results.csv and paper.csv, and error tables of model cards."""

import csv
import io
import math
import re
import statistics
from collections.abc import Collection, Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from elu_zoo import files

Row = dict[str, str]  # a row that csv.DictReader reads
Entry = dict[str, Any]  # a manifest entry of a weight file
SQUARED = "test_squared_error"  # the metric of autoencoders
COLUMNS = (
    "config model dataset activation batch_norm seed schedule epochs schedule_share backend commit "
    "steps train_loss validation_loss validation_error_percent validation_top5_error_percent "
    "validation_squared_error test_loss test_error_percent test_top5_error_percent "
    "test_squared_error wall_time_seconds hardware sha256"
).split()
_FIELD = re.compile(r"-config(?:\.([\w.]+)|[= ][^:\s]*\.py)")  # in the command of a run
_NO_RECIPE = {"data.measure_test", "train.checkpoint_every", "train.epochs", "train.evaluate_every"}
_ROUNDING = 1e-12  # differences up to this share of the values are no differences
# The 0.975 quantiles of Student's t for 1, 2, ... degrees of freedom.
_STUDENT = (
    *(12.70620, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600),
    *(2.26216, 2.22814, 2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991),
    *(2.10982, 2.10092, 2.09302, 2.08596, 2.07961, 2.07387, 2.06866, 2.06390),
    *(2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227),
)


def wilson(share: float, count: int) -> tuple[float, float]:
    """Returns Wilson's 95 % interval: |share - p| <= z * sqrt(p * (1 - p) / count)."""
    z2 = statistics.NormalDist().inv_cdf(0.975) ** 2 / count
    centre = (share + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)


def vary(values: Sequence[float], scale: float = 0.0) -> bool:
    """Whether values, computed from numbers up to `scale`, differ by more than rounding."""
    low, high = min(values), max(values)
    return high - low > _ROUNDING * max(abs(low), abs(high), scale)


def beats_chance(error: float, classes: int) -> bool:
    """Whether an error in percent is clearly below that of guessing.

    The margin is 2 points, or a fifth of the share of right guesses if that is less:
    always the most frequent digit is right for 11.35 % of MNIST's test images.
    """
    if classes < 2:
        return True
    right = 1 / classes
    return error < 100 * (1 - right - min(0.02, right / 5))


def student(values: Sequence[float]) -> tuple[float, float]:
    """Student's 95 % interval of the mean; NaN for values that do not `vary`."""
    if not vary(values):
        return math.nan, math.nan
    # More than 31 values have the quantile of 31, at most 4 % too wide.
    quantile = _STUDENT[min(len(values) - 1, len(_STUDENT)) - 1]
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.mean(values)
    return mean - half, mean + half


class ErrorLine(NamedTuple):
    """One line of an error table, as text."""

    name: str  # of the weights or runs that have this test error
    value: str  # the test error, with its standard deviation over several runs, or ""
    interval: str = ""  # the 95 % interval, the reason for its absence, or ""


def read(name: str) -> list[Row]:
    """Returns the rows of a CSV file of configs/results/ in the package."""
    return read_file(Path(str(resources.files("elu_zoo.configs")), "results", name))


def read_file(path: Path) -> list[Row]:
    """Returns the rows of a CSV file, or an empty list if the file does not exist."""
    text = files.read(path).decode() if path.exists() else ""
    return list(csv.DictReader(text.splitlines()))


def row(workdir: Path, entry: Entry) -> dict[str, Any]:
    """Returns the row of results.csv for a finished run."""
    return {
        **{key: entry[key] for key in COLUMNS if key in entry},
        **entry["metrics"],
        "config": entry["config"]["name"],
        "activation": entry["arguments"]["activation"]["name"],
        "batch_norm": entry["arguments"]["batch_norm"],
        "steps": entry.get("kept_step", entry["step"]),
        "train_loss": train_loss(workdir, entry),
    }


def train_loss(workdir: Path, entry: Entry) -> float:
    """Returns the training loss at the step of a run's weights, NaN if it is lost."""
    path, step = workdir / "metrics.jsonl", entry.get("kept_step", entry["step"])
    rows = files.read_rows(path) if path.exists() else []
    # A run may have continued after a loss of metrics.jsonl.
    return next((row["train_loss"] for row in rows if row["step"] == step), math.nan)


def add(path: Path, new: dict[str, Any]) -> None:
    """Adds the row of a run to a CSV file unless a row has the same weights."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.locked(path.parent):  # Another process may add a row.
        rows = read_file(path)
        if all(old["sha256"] != new["sha256"] for old in rows):
            rows.append(new)
            rows.sort(key=lambda r: (r["config"], str(r["batch_norm"]), int(r["seed"])))
            # Measures that COLUMNS lacks are the last columns, empty for earlier runs.
            write(path, dict.fromkeys([*COLUMNS, *(key for row in rows for key in row)]), rows)


def write(path: Path, columns: Collection[str], rows: Iterable[dict[str, Any]]) -> None:
    """Writes rows as a CSV file, atomically."""
    content = io.StringIO()
    writer = csv.DictWriter(content, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_bytes(path, content.getvalue().encode())


def metric(entry: Entry) -> str:
    """Returns the key of the test error in an entry's metrics."""
    return SQUARED if SQUARED in entry["metrics"] else "test_error_percent"


def file_error(entry: Entry) -> ErrorLine:
    """Returns the test error of a weight file, with an interval for other test images."""
    value, count = entry["metrics"][metric(entry)], entry["examples"]["test"]
    interval = ""
    if metric(entry) != SQUARED:  # Squared errors of single images are not recorded.
        interval = _interval(entry, *(100 * end for end in wilson(value / 100, count)))
    name = f"this file, on {count:,} test images"
    return ErrorLine(name, f"{value:.2f}{_unit(entry)}", interval)


def recipe_error(entry: Entry, rows: Sequence[Row]) -> ErrorLine:
    """Returns the mean test error of a recipe, with an interval for other seeds."""
    found = find_runs(entry, rows)
    classes, key = len(entry.get("classes", ())), metric(entry)
    runs = sorted((int(run["seed"]), float(run[key])) for run in found)
    runs = [(seed, error) for seed, error in runs if beats_chance(error, classes)]
    if not runs:
        return ErrorLine("its recipe", "", f"no {'trained ' * bool(found)}run in results.csv")
    seeds, values = ", ".join(str(seed) for seed, _ in runs), [error for _, error in runs]
    left_out = len(found) - len(runs)
    more = f"; {left_out} more at chance, not trained" * bool(left_out)
    value = spread(values) + _unit(entry)
    if len(values) == 1:
        return ErrorLine(f"its recipe, seed {seeds}{more}", value, "one run: no interval")
    name = f"its recipe, {len(values)} runs (seeds {seeds}){more}"
    return ErrorLine(name, value, _interval(entry, *student(values)))


def spread(values: Sequence[float]) -> str:
    """Returns `mean ± standard deviation`, or the value of a single run."""
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"


def paper_error(entry: Entry, paper: Sequence[Row]) -> ErrorLine | None:
    """Returns the paper's error for the same experiment; None for another recipe."""
    if entry["schedule"] != "paper":
        return None
    in_paper = paper_row(_key(entry), paper)
    share, width = entry["schedule_share"], entry["arguments"].get("width", 1.0)
    if in_paper is None or changed(entry) or share > 1 or width != 1.0:
        return ErrorLine("the paper", "no number")
    runs = in_paper["runs"]
    whose = f"{runs} run" + "s" * (runs != "1") if runs else "not a run of its own"  # Table 1
    name = f"the paper, section {in_paper['section']}, {whose}"
    if share < 1:
        name += f", after its whole schedule; this file had {share:.0%} of it"
    return ErrorLine(name, published_error(in_paper))


def changed(entry: Entry) -> set[str]:
    """Returns the fields by which a recipe differs from its config, "" if they are unknown."""
    return set(_FIELD.findall(entry.get("command") or "mine.py --config=mine.py")) - _NO_RECIPE


def paper_row(run: Row, paper: Sequence[Row]) -> Row | None:
    """Returns the row of paper.csv for the experiment of a run, None without a row."""
    keys = "model", "dataset", "activation", "batch_norm"
    rows = (row for row in paper if all(run[key] == row[key] for key in keys))
    return next(rows, None) if has_papers_config(run) else None


def has_papers_config(run: Row) -> bool:
    """Whether a run's config is named after the paper's network and data set alone."""
    name = f"{run['model']}-{run['dataset']}"
    config = run["config"].removesuffix(f"-paper{run['epochs']}")
    return config in (name, f"table1_baselines-{name}")


def published_error(row: Row) -> str:
    """Returns the error of a row of paper.csv, as text."""
    deviation = row["standard_deviation"]
    return row["test_error_percent"] + f" ± {deviation}" * bool(deviation) + " %"


def find_runs(entry: Entry, rows: Sequence[Row]) -> list[Row]:
    """Returns one run for each seed of an entry's recipe, or none if the entry has no row."""
    wanted = _key(entry)
    runs = [row for row in rows if all(row[k] == v for k, v in wanted.items())]
    # Rows do not state the learning rate, so the others may be of another recipe.
    own = [run for run in runs if run["sha256"] == entry["sha256"]]
    return [*{run["seed"]: run for run in [*runs, *own]}.values()] if own else []


def _key(entry: Entry) -> Row:
    arguments = entry["arguments"]
    return {
        "model": entry["model"],
        "dataset": entry["dataset"],
        "activation": arguments["activation"]["name"],
        "batch_norm": str(arguments["batch_norm"]),
        "config": entry["config"]["name"],
        "schedule": entry["schedule"],
        "epochs": str(entry["epochs"]),
    }


def _unit(entry: Entry) -> str:
    return ", squared" if metric(entry) == SQUARED else " %"


def _interval(entry: Entry, low: float, high: float) -> str:
    if math.isnan(low):
        return "all runs equal: no interval"
    # Student's interval of a few very different runs may begin below 0.
    return f"{max(0.0, low):.2f} to {high:.2f}{_unit(entry)}"
