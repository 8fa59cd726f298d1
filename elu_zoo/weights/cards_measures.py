"""Sections of a model card on calibration and on errors on changed images."""

import statistics
from collections.abc import Sequence

from elu_zoo import results
from elu_zoo.weights.manifest import Entry

# The columns of configs/results/image_changes.csv.
COLUMNS = ("tag config model dataset activation seed kind severity images error_percent").split()


def limit(entry: Entry) -> str:
    """Returns the sentence about probabilities, for the section on limits."""
    if "temperature" in entry.get("calibration", {}):
        return "The model's probabilities are without the temperature of this card."
    return "The probabilities are not calibrated."


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


def calibration(entry: Entry) -> str:
    """Returns the section on calibration, or "" if the entry lacks its measures."""
    found = entry.get("calibration")
    if not found:
        return ""
    names = {"": "the network's probabilities"}
    if "temperature" in found:
        names["_at_temperature"] = f"at temperature {found['temperature']:.3f}"
        why = f"The temperature divides the logits. {found['temperature_source']}"
    else:
        why = found["no_temperature"]
    lines = "\n".join(
        f"| {name} | {found[f'nll_nats{end}']:.4f} | {found[f'ece_percent{end}']:.2f} |"
        for end, name in names.items()
    )
    return (
        "\n\n### Calibration\n\n| on the test images | NLL, nats | ECE, % |\n"
        f"|---|---|---|\n{lines}\n\nNLL is the mean negative log-likelihood. ECE is "
        "the expected calibration error of the largest probability, in 15 bins of "
        f"equal width. {why}"
    )


def means(rows: Sequence[results.Row]) -> dict[str, float]:
    """Returns the mean error over the severities of each kind, in percent."""
    kinds = dict.fromkeys(row["kind"] for row in rows)
    return {
        kind: statistics.mean(float(row["error_percent"]) for row in rows if row["kind"] == kind)
        for kind in kinds
    }


def partners(tag: str, rows: Sequence[results.Row]) -> list[str]:
    """Returns a tag, and the tags of its partner with equal config, data set and seed.

    ReLU is the partner of ELU, and ELU is the partner of every other activation.
    """
    same = "config", "dataset", "seed"
    own = next((row for row in rows if row["tag"] == tag), None)
    if own is None:
        return []
    partner = "relu" if own["activation"] == "elu" else "elu"
    tags = [
        row["tag"]
        for row in rows
        if row["activation"] == partner and all(row[key] == own[key] for key in same)
    ]
    return list(dict.fromkeys([tag, *tags]))


def changes(entry: Entry, rows: Sequence[results.Row]) -> str:
    """Returns the section on changed images, or "" if no row has the entry's tag.

    Args:
        entry: the entry of the weight file.
        rows: the rows of configs/results/image_changes.csv.
    """
    tags = partners(entry["tag"], rows)
    if not tags:
        return ""
    of_tag = {tag: [row for row in rows if row["tag"] == tag] for tag in tags}
    kinds = list(means(of_tag[entry["tag"]]))
    lines = []
    for tag, group in of_tag.items():
        name = group[0]["activation"] + (", this file" if tag == entry["tag"] else "")
        cells = " | ".join(f"{value:.2f}" for value in means(group).values())
        lines.append(f"| {name} | {int(group[0]['images']):,} | {cells} |")
    count = int(of_tag[entry["tag"]][0]["images"])
    notes = [
        "Means over five severities, which `elu_zoo/data/image_changes.py` lists; "
        "`none` is without a change."
    ]
    if count < entry["examples"]["test"]:
        notes.append(f"Only the first {count:,} test images were used.")
    if len(tags) > 1:
        notes.append("The files have the same config and seed.")
    return (
        "\n\n### Changed images\n\n"
        f"| error, % | test images | {' | '.join(kinds)} |\n"
        f"|{'---|' * (len(kinds) + 2)}\n" + "\n".join(lines + ["", " ".join(notes)])
    )
