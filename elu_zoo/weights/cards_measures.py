"""Sections of a model card on calibration and on errors on changed images."""

import statistics
from collections.abc import Sequence

from elu_zoo import results
from elu_zoo.weights.manifest import Entry

# The columns of configs/results/image_changes.csv.
COLUMNS = ("tag config model dataset activation seed kind severity images error_percent").split()
_SAME = "config", "dataset", "seed"  # of compared files


def error_table(entry: Entry, rows: Sequence[results.Row], paper: Sequence[results.Row]) -> str:
    """Returns the table of test errors and how they were measured."""
    lines = results.error_lines(entry, rows, paper)
    table = "\n".join(f"| {line.name} | {line.value} | {line.interval} |" for line in lines)
    squared = (
        "The squared error is the sum over the pixels of an image, which are in "
        "[0, 1], averaged over images. That of the file has no interval, because the "
        "errors of single images are not recorded. "
    )
    step = "the last step"
    if "kept_step" in entry:
        step = f"step {entry['kept_step']:,}, which had the lowest validation loss"
    return (
        f"| measured | test error | 95 % interval |\n|---|---|---|\n{table}\n\n"
        + squared * (results.metric(entry) == results.SQUARED)
        + f"Errors were measured after {step}, with the weights as a file "
        "stores them. Neither steps nor runs were selected by test errors. ± is the "
        "standard deviation over runs. The interval of the file is Wilson's, for other "
        "test images; that of the recipe is Student's, for the mean over seeds."
    )


def calibration(entry: Entry) -> list[str]:
    """Returns the parts of the section on calibration; none without its measures."""
    found = entry.get("calibration")
    if not found:
        return []
    lines = ["| on the test images | NLL, nats | ECE, % |", "|---|---|---|"]
    names = {"": "the network's probabilities"}
    why = found.get("no_temperature")
    if "temperature" in found:
        names["_at_temperature"] = f"at temperature {found['temperature']:.3f}"
        why = f"The temperature divides the logits. {found['temperature_source']}"
    for end, name in names.items():
        nll, ece = found[f"nll_nats{end}"], found[f"ece_percent{end}"]
        lines.append(f"| {name} | {nll:.4f} | {ece:.2f} |")
    notes = (
        "NLL is the mean negative log-likelihood. ECE is the expected calibration error of "
        f"the largest probability, in 15 bins of equal width. {why}"
    )
    return ["### Calibration", "\n".join(lines), notes]


def means(rows: Sequence[results.Row]) -> dict[str, float]:
    """Returns the mean error over the severities of each kind, in percent."""
    kinds = dict.fromkeys(row["kind"] for row in rows)
    return {
        kind: statistics.mean(float(row["error_percent"]) for row in rows if row["kind"] == kind)
        for kind in kinds
    }


def changes(entry: Entry, rows: Sequence[results.Row]) -> list[str]:
    """Returns the parts of the section on changed images; none without rows of the tag.

    Files of the partner activation (ELU's is ReLU, every other one's is ELU) with equal
    config, data set and seed are compared.

    Args:
        entry: the entry of the weight file.
        rows: the rows of configs/results/image_changes.csv.
    """
    tags = [entry["tag"]]
    own = [row for row in rows if row["tag"] in tags]
    if not own:
        return []
    partner = "relu" if own[0]["activation"] == "elu" else "elu"
    equal = [row for row in rows if all(row[key] == own[0][key] for key in _SAME)]
    tags += [row["tag"] for row in equal if row["activation"] == partner]
    kinds = list(means(own))
    lines = [
        f"| error, % | test images | {' | '.join(kinds)} |",
        f"|{'---|' * (len(kinds) + 2)}",
    ]
    for tag in dict.fromkeys(tags):
        group = [row for row in rows if row["tag"] == tag]
        name = group[0]["activation"] + (", this file" if group == own else "")
        cells = " | ".join(f"{value:.2f}" for value in means(group).values())
        lines.append(f"| {name} | {int(group[0]['images']):,} | {cells} |")
    notes = (
        "Means over five severities, which `elu_zoo/data/image_changes.py` lists, of the first "
        "test images; `none` is without a change. Compared files have the same config and seed."
    )
    return ["### Changed images", "\n".join(lines), notes]
