"""Sections of a model card on calibration and on errors on changed images."""

import statistics
from collections.abc import Sequence

from elu_zoo import results
from elu_zoo.weights.manifest import Entry

# The columns of configs/results/image_changes.csv.
COLUMNS = ("tag config model dataset activation seed kind severity images error_percent").split()
_SQUARED = (
    "The squared error is the sum over the pixels of an image, which are in [0, 1], averaged "
    "over images. The errors of single images are not recorded. "
)


def error_table(entry: Entry, rows: Sequence[results.Row], paper: Sequence[results.Row]) -> str:
    """Returns the table of test errors and how they were measured."""
    lines = results.error_lines(entry, rows, paper)
    table = "\n".join(f"| {line.name} | {line.value} | {line.interval} |" for line in lines)
    step = "the last step"
    if "kept_step" in entry:
        step = f"step {entry['kept_step']:,}, which had the lowest validation loss"
    return (
        f"| measured | test error | 95 % interval |\n|---|---|---|\n{table}\n\n"
        + _SQUARED * (results.metric(entry) == results.SQUARED)
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
    names = {"": "the network's probabilities"}
    why = found.get("no_temperature")
    if "temperature" in found:
        names["_at_temperature"] = f"at temperature {found['temperature']:.3f}"
        why = f"The temperature divides the logits. {found['temperature_source']}"
    lines = [
        f"| {name} | {found[f'nll_nats{end}']:.4f} | {found[f'ece_percent{end}']:.2f} |"
        for end, name in names.items()
    ]
    return [
        "### Calibration",
        "\n".join(["| on the test images | NLL, nats | ECE, % |", "|---|---|---|", *lines]),
        "NLL is the mean negative log-likelihood. ECE is the expected calibration error of "
        f"the largest probability, in 15 bins of equal width. {why}",
    ]


def means(rows: Sequence[results.Row]) -> dict[str, float]:
    """Returns the mean error over the severities of each kind, in percent."""
    kinds: dict[str, list[float]] = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(float(row["error_percent"]))
    return {kind: statistics.mean(errors) for kind, errors in kinds.items()}


def changes(entry: Entry, rows: Sequence[results.Row]) -> list[str]:
    """Returns the parts of the section on changed images; none without rows of the tag.

    Files of the partner activation (ELU's is ReLU, every other one's is ELU) with equal
    config, data set and seed are compared.
    """
    own = next((row for row in rows if row["tag"] == entry["tag"]), None)
    if own is None:
        return []
    partner = "relu" if own["activation"] == "elu" else "elu"
    same = {key: own[key] for key in ("config", "dataset", "seed")} | {"activation": partner}
    others = [row["tag"] for row in rows if same.items() <= row.items()]
    lines = []
    for tag in dict.fromkeys([entry["tag"], *others]):
        group = [row for row in rows if row["tag"] == tag]
        name = group[0]["activation"] + ", this file" * (tag == entry["tag"])
        cells = " | ".join(f"{value:.2f}" for value in means(group).values())
        lines.append(f"| {name} | {int(group[0]['images']):,} | {cells} |")
    kinds = means([row for row in rows if row["tag"] == entry["tag"]])
    head = f"| error, % | test images | {' | '.join(kinds)} |\n|{'---|' * (len(kinds) + 2)}"
    return [
        "### Changed images",
        "\n".join([head, *lines]),
        "Means over five severities, which `elu_zoo/data/image_changes.py` lists, of the first "
        "test images; `none` is without a change. Compared files have the same config and seed.",
    ]
