"""Tables of training runs: whole schedules in runs.md, and fine-tuned networks."""

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from elu_zoo import results
from elu_zoo.data import catalog
from elu_zoo.pairs import statistics as paired_statistics

Rows = list[results.Row]

_FINETUNED = re.compile(r"finetune-\w+-(?P<weights>\w+)-(?P<labels>\d+)@cifar10")
_SIZE = re.compile(
    r"finetune:weights=(?P<weights>\w+),.*?(image_size=(?P<size>\d+),)?validation=True,"
    r"seed=\d+ --data=(?P<data>\w+(_\d+\.npz|_groups)) .*"
)
# Not in runs.md: fine-tuned networks have another table, other depths a figure.
_ELSEWHERE = re.compile("finetune-|mnist_depth-")
_ORDER = ["elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu"]
_PAGE = """# Training runs

`python tools/results_table.py` writes this page from [results.csv](results.csv), which
has a row for each run, including runs of fine-tuned networks and of parts of schedules.

{}

Errors are means and standard deviations over seeds, after the last step, of weights
rounded to float16. The error is the percentage of misclassified images; for an
autoencoder it is the squared error of pixels in [0, 1], summed over an image. No test
image was used to choose a setting. The paper shows its MNIST runs as curves, without
numbers. `quick` and `ours` are our schedules for little compute. The paper's number is
in the table only for whole schedules of the paper, or of a network's authors.
"""


def page(rows: Rows, paper: Rows) -> str:
    """Returns runs.md."""
    return _PAGE.format(table(rows, paper))


def table(rows: Rows, paper: Rows) -> str:
    """Returns a Markdown table of whole schedules by config, data and activation.

    Args:
        rows: rows of results.csv.
        paper: rows of paper.csv.
    """
    groups = defaultdict(list)
    for row in rows:
        key = row["config"], row["dataset"], row["batch_norm"], row["activation"]
        if not _ELSEWHERE.match(row["config"]) and float(row["schedule_share"]) == 1:
            groups[key].append(row)
    lines = [
        "| config | data | activation | runs | test error | the paper's | "
        "training loss | schedule |",
        "|---|---|---|---|---|---|---|---|",
    ]
    order = {name: index for index, name in enumerate(_ORDER)}
    for key in sorted(groups, key=lambda k: (*k[:3], order.get(k[3], 99), k[3])):
        config, dataset, batch_norm, activation = key
        runs = groups[key]
        name = activation + (" + batch norm" if batch_norm == "True" else "")
        schedules = {schedule(run) for run in runs}
        losses = statistics.mean(float(r["train_loss"]) for r in runs)
        lines.append(
            f"| {config} | {dataset} | {name} | {len(runs)} | "
            f"{error(runs)} | {papers_error(runs, paper)} | {losses:.3g} | "
            f"{' / '.join(sorted(schedules))} |"
        )
    return "\n".join(lines)


def finetuning_table(rows: Rows) -> str:
    """Returns a Markdown table of fine-tuned networks with a row per number of labels.

    The last column compares pretrained bodies: the error with ELU minus the error with
    ReLU, as a mean over the common seeds, with Student's 95 % interval.
    """
    arms = defaultdict(dict)  # (number of labels, weights, activation): error by seed
    for row in rows:
        if match := _FINETUNED.fullmatch(row["config"]):
            key = int(match["labels"]), match["weights"], row["activation"]
            arms[key][row["seed"]] = float(row["test_error_percent"])
    kinds = sorted({key[1:] for key in arms})
    titles = [f"from {w}, {a}".replace("none", "nothing") for w, a in kinds]
    pair = [("cifar100", "elu"), ("cifar100", "relu")]
    lines = [
        f"| labels | runs | {' | '.join(titles)} | elu - relu |",
        "|---|---" + "|---" * len(titles) + "|---|",
    ]
    for labels in sorted({key[0] for key in arms}):
        of_labels = [arms[labels, *kind] for kind in kinds]
        means = [spread(list(runs.values())) + " %" for runs in of_labels]
        elu, relu = (arms[labels, *kind] for kind in pair)
        seeds = elu.keys() & relu.keys()
        both = ([errors[seed] for seed in sorted(seeds)] for errors in (elu, relu))
        difference = difference_text(*both, "+.2f")
        counts = " / ".join(sorted({str(len(runs)) for runs in of_labels}))
        lines.append(f"| {labels:,} | {counts} | {' | '.join(means)} | {difference} |")
    return "\n".join(lines)


def sizes_table(trials: Rows) -> str:
    """Returns a Markdown table of validation errors of fine-tuning by image size."""
    arms = defaultdict(lambda: defaultdict(list))
    for row in trials:
        if match := _SIZE.fullmatch(row["config"]):
            key = match["data"], int(match["size"] or 32)
            arms[key][match["weights"]].append(float(row["validation_error_percent"]))
    lines = [
        "| images | pixels | from cifar100 (each run) | from nothing (each run) |",
        "|---|---|---|---|",
    ]
    for (data, size), arm in sorted(arms.items()):
        found = [arm[weights] for weights in ("cifar100", "none")]
        cells = " | ".join(f"{spread(each)} %{_each(each)}" if each else "" for each in found)
        lines.append(f"| {data} | {size} x {size} | {cells} |")
    return "\n".join(lines)


def difference_text(first: list[float], second: list[float], digits: str, unit: str = "") -> str:
    """Returns the mean difference of pairs with Student's interval, if there is one."""
    found = paired_statistics.paired_interval(first, second)
    interval = "no interval"
    if not math.isnan(found.low):
        interval = f"{found.low:{digits}} to {found.high:{digits}}"
    return f"{found.mean:{digits}}{unit} ({interval})"


def _each(errors: list[float]) -> str:
    return f" ({', '.join(f'{error:.1f}' for error in errors)})"


def error(runs: Rows) -> str:
    """Returns the test error of runs as text: the result of `spread`, and the unit."""
    if runs[0].get("test_squared_error"):
        return spread([float(r["test_squared_error"]) for r in runs]) + ", squared"
    errors = [float(r["test_error_percent"]) for r in runs]
    entry = catalog.ENTRIES.get(runs[0].get("dataset", ""))
    classes = entry.num_classes if entry else 0
    trained = [error for error in errors if results.is_trained(error, classes)]
    parts = [spread(trained) + " %"] if trained else []
    if left_out := len(errors) - len(trained):
        parts.append(f"{left_out} at chance, not trained")
    return "; ".join(parts)


def schedule(run: Mapping[str, Any]) -> str:
    """Returns the schedule, epochs and schedule share of a run or an entry, as text."""
    share = float(run["schedule_share"])
    part = f" ({share:.0%} of it)" if share < 1 else ""
    return f"{run['schedule']}, {run['epochs']} epochs{part}"


def papers_error(runs: Rows, paper: Rows) -> str:
    """Returns the paper's error if all runs have the whole paper schedule, else ""."""
    if any((r["schedule"], float(r["schedule_share"])) != ("paper", 1) for r in runs):
        return ""
    row = results.published(runs[0], paper)
    return results.published_error(row) if row else ""


def spread(values: list[float]) -> str:
    """Returns `mean ± standard deviation`, or the value of a single run."""
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"
