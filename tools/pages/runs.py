"""Tables of training runs: all that followed a whole schedule, and the fine-tuned."""

import re
import statistics
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from elu_zoo import results

Rows = list[results.Row]

_FINETUNED = re.compile(r"finetune-\w+-(?P<weights>\w+)-(?P<labels>\d+)@cifar10")
# Fine-tuned networks have a table of their own, depths a figure.
_ELSEWHERE = re.compile("finetune-|mnist_depth-")
_ORDER = ["elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu"]
_PAGE = """# Training runs

Written by `python tools/results_table.py` from [results.csv](results.csv), which has a
row for each run; fine-tuned networks and parts of schedules are there alone.

{}

Mean and standard deviation over runs of the same seeds; the error is the last step's,
of the weights rounded to float16 as they ship (seed 0, of the autoencoder with ELU
only): the share of images that are misclassified, or of an autoencoder the squared
reconstruction error of pixels in [0, 1], summed over an image. No test image was used
to choose anything. The paper gives its MNIST runs as curves, without numbers. `fast` is
not the paper's schedule but our own, for machines without a GPU, at a rate chosen for
ELU and ReLU: of shifted ReLU some runs did not start to learn at it. The paper's number
stands beside runs of the whole schedule that the paper, or a network's authors, had,
and beside no others.
"""


def page(rows: Rows, paper: Rows) -> str:
    """Returns runs.md."""
    return _PAGE.format(table(rows, paper))


def table(rows: Rows, paper: Rows) -> str:
    """Returns one Markdown row for each config, activation and normalisation.

    Runs of a part of their schedule are left out.

    Args:
        rows: of results.csv.
        paper: of paper.csv, the paper's own figures.
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
    place = {name: index for index, name in enumerate(_ORDER)}
    for key in sorted(groups, key=lambda k: (*k[:3], place.get(k[3], 99), k[3])):
        config, dataset, batch_norm, activation = key
        runs = groups[key]
        name = activation + " + batch norm" * (batch_norm == "True")
        schedules = {schedule(run) for run in runs}
        losses = statistics.mean(float(r["train_loss"]) for r in runs)
        lines.append(
            f"| {config} | {dataset} | {name} | {len(runs)} | "
            f"{error(runs)} | {published(runs, paper)} | {losses:.3g} | "
            f"{' / '.join(sorted(schedules))} |"
        )
    return "\n".join(lines)


def finetuned(rows: Rows) -> str:
    """Returns the errors of fine-tuned networks, a row for each number of labels.

    The last column is the mean difference between runs of one seed, ELU's body minus
    ReLU's, with Student's 95 % interval.

    Args:
        rows: of results.csv; others than of the config finetune are left out.
    """
    arms = defaultdict(dict)  # (number of labels, weights, activation): error by seed
    for row in rows:
        if found := _FINETUNED.fullmatch(row["config"]):
            key = int(found["labels"]), found["weights"], row["activation"]
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
        differences = [elu[seed] - relu[seed] for seed in elu if seed in relu]
        low, high = results.student(differences)
        mean = statistics.mean(differences)
        counts = " / ".join(sorted({str(len(runs)) for runs in of_labels}))
        lines.append(
            f"| {labels:,} | {counts} | {' | '.join(means)} | "
            f"{mean:+.2f} ({low:+.2f} to {high:+.2f}) |"
        )
    return "\n".join(lines)


def error(runs: Rows) -> str:
    """Returns what the runs measure on the test images, with its unit."""
    if runs[0].get("test_squared_error"):
        return spread([float(r["test_squared_error"]) for r in runs]) + ", squared"
    return spread([float(r["test_error_percent"]) for r in runs]) + " %"


def schedule(run: Mapping[str, Any]) -> str:
    """Returns whose schedule a run followed, how long, and what share of it that is.

    Args:
        run: a row of results.csv, or an entry.
    """
    share = float(run["schedule_share"])
    part = f" ({share:.0%} of it)" if share < 1 else ""
    return f"{run['schedule']}, {run['epochs']} epochs{part}"


def published(runs: Rows, paper: Rows) -> str:
    """Returns the paper's own figure for what runs of one config are.

    "" where it has none, or where the runs followed another schedule than the paper's,
    or a part of it.
    """
    if any((r["schedule"], float(r["schedule_share"])) != ("paper", 1) for r in runs):
        return ""
    row = results.published(runs[0], paper)
    return results.published_error(row) if row else ""


def spread(values: list[float]) -> str:
    """Returns `mean ± standard deviation`, or the value of a single run."""
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.2f}"
