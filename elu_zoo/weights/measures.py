"""Measures that entries and cards state: training cost, and errors on changed images."""

import statistics
from collections.abc import Sequence

from elu_zoo import results
from elu_zoo.weights.manifest import Entry

# The columns of configs/results/image_changes.csv.
COLUMNS = ("tag config model dataset activation seed kind severity images error_percent").split()


def training_cost(entry: Entry) -> dict[str, float]:
    """Returns `training_pflop`, in 10**15 operations, and `training_hours` of an entry.

    A multiply-accumulate is two operations, and the gradients cost about twice the
    forward computation. Only dense and convolution layers are counted.
    """
    # Data sets with fewer images than the config's batch size have smaller batches.
    batch_size = entry.get("batch_size") or entry["config"]["train"]["batch_size"]
    pflop = 3 * entry["multiply_accumulates"] * 2 * entry["step"] * batch_size / 1e15
    hours = entry["wall_time_seconds"] / 3600
    return {"training_pflop": float(f"{pflop:.4g}"), "training_hours": float(f"{hours:.4g}")}


def means(rows: Sequence[results.Row]) -> dict[str, float]:
    """Returns the mean error over the severities of each kind, in percent."""
    kinds: dict[str, list[float]] = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(float(row["error_percent"]))
    return {kind: statistics.mean(errors) for kind, errors in kinds.items()}


def changed_images(tag: str, rows: Sequence[results.Row]) -> str | None:
    """Returns a table of errors on changed images by activation, None without rows of the tag."""
    if not (own := [row for row in rows if row["tag"] == tag]):
        return None
    same = {key: own[0][key] for key in ("config", "dataset", "seed")}
    others = [row["tag"] for row in rows if same.items() <= row.items()]
    kinds = means(own)
    lines = [f"| error, % | test images | {' | '.join(kinds)} |", "|" + "---|" * (len(kinds) + 2)]
    for each in dict.fromkeys([tag, *others]):
        group = [row for row in rows if row["tag"] == each]
        name = group[0]["activation"] + ", this file" * (each == tag)
        cells = " | ".join(f"{value:.2f}" for value in means(group).values())
        lines.append(f"| {name} | {int(group[0]['images']):,} | {cells} |")
    return "\n".join(lines)
