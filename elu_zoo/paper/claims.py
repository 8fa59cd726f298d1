"""The table of claims: every claim of the experiments, and its result."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path

from elu_zoo import results
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.judging import NOT_DECIDED, Claim, Finding
from elu_zoo.paper.views import View

COLUMNS = (
    "id whose section claim experiment budget measure n effect low high p verdict"
).split()


def judge(claim: Claim, view: View | None) -> Finding:
    """Returns the result of a claim; `view` is of its experiment."""
    if not claim.judge or not view:
        return Finding()
    finding = claim.judge(view.rows)
    if view.budget == "smoke":
        return dataclasses.replace(finding, verdict=NOT_DECIDED)
    return finding


def table(views: Mapping[str, View]) -> list[dict[str, object]]:
    """Returns the rows of claims.csv; numbers that are not known are NaN.

    Args:
        views: by experiment, of those that have rows.
    """
    rows = []
    for name, experiment in EXPERIMENTS.items():
        for claim in experiment.claims:
            finding = judge(claim, views.get(name))
            row = {
                "id": claim.name,
                "whose": "ours" if claim.ours else "the paper's",
                "section": claim.section,
                "claim": claim.text,
                "experiment": name,
                "budget": views[name].budget if finding.n else "",
                "measure": claim.measure,
                **dataclasses.asdict(finding),
            }
            rows.append(row)
    return rows


def write(path: Path, table: list[dict[str, object]]) -> None:
    """Writes claims.csv."""
    results.write(path, COLUMNS, [row | _numbers(row) for row in table])


def _numbers(row: dict[str, object]) -> dict[str, str]:
    return {
        key: "" if math.isnan(row[key]) else f"{row[key]:.4g}"
        for key in ("effect", "low", "high", "p")
    }
