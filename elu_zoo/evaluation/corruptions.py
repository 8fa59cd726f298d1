"""Errors of a classifier on images that are changed, for instance by noise."""

from typing import Any

from elu_zoo import errors
from elu_zoo.data import image_changes
from elu_zoo.data.dataset import Split
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.weights import measures

Row = dict[str, Any]
UNCHANGED = "none"


def measure(evaluator: Evaluator, split: Split, seed: int = 0) -> list[Row]:
    """Returns a row for each change of `image_changes.LEVELS`, after one without changes."""
    if split.is_encoded:
        raise errors.UsageError(
            "Changes of images need images in memory, and a network that crops reads them from "
            "the disk. Remove --changes."
        )
    cases = [(kind, n) for kind in image_changes.LEVELS for n in image_changes.SEVERITIES]
    rows: list[Row] = []
    for kind, severity in [(UNCHANGED, 0), *cases]:
        images = split.images
        if severity:
            images = image_changes.change(images, kind, severity, seed)
        error = evaluator(Split(images, split.labels))["error_percent"]
        row = {"kind": kind, "severity": severity, "images": len(split)}
        rows.append({**row, "error_percent": round(error, 4)})
    return rows


def by_kind(rows: list[Row]) -> list[dict[str, str]]:
    """Returns the result of `measure` as a table with a row per kind."""
    unchanged = rows[0]["error_percent"]
    lines = []
    for kind, mean in measures.means(rows[1:]).items():
        by_severity = {str(r["severity"]): r["error_percent"] for r in rows if r["kind"] == kind}
        cells = {"none": unchanged, **by_severity, "mean": mean}
        lines.append({"error, %": kind} | {k: f"{v:.2f}" for k, v in cells.items()})
    return lines
