"""Every claim of the paper that can be measured, and what was found of it.

A claim about "the other units" is one for each of them. What only the paper's own
schedule decides is here as well, and stays open until that is run. What we ask of units
of which the paper does not claim it is beside them, and marked as ours.
"""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path

from elu_zoo import results
from elu_zoo.paper import claims_of_images, claims_of_mnist, claims_of_units
from elu_zoo.paper.judging import NOT_DECIDED, Claim, Finding
from elu_zoo.paper.views import View

COLUMNS = (
    "id whose section claim experiment budget measure n effect low high p verdict"
).split()
CLAIMS: tuple[Claim, ...] = (
    *claims_of_mnist.CLAIMS,
    *claims_of_images.CLAIMS,
    *claims_of_units.CLAIMS,
)


def judged(views: Mapping[str, View]) -> dict[str, Finding]:
    """Returns what the points of experiments say of each claim, by its name.

    Args:
        views: of the experiments that have points.
    """
    found = {}
    for claim in CLAIMS:
        view = views.get(claim.experiment)
        finding = claim.judge(view.rows if view else {})
        if view and view.budget == "smoke":  # it tests the way alone
            finding = dataclasses.replace(finding, verdict=NOT_DECIDED)
        found[claim.name] = finding
    return found


def write(path: Path, found: Mapping[str, Finding], views: Mapping[str, View]) -> None:
    """Writes claims.csv.

    Args:
        path: of the file.
        found: as `judged` returns it.
        views: see there.
    """
    results.write(path, COLUMNS, table(found, views))


def table(
    found: Mapping[str, Finding], views: Mapping[str, View]
) -> list[dict[str, object]]:
    """Returns the rows of claims.csv; arguments as for `write`."""
    rows = []
    for claim in CLAIMS:
        finding = found[claim.name]
        row = {
            "id": claim.name,
            "whose": "ours" if claim.ours else "the paper's",
            "section": claim.section,
            "claim": claim.text,
            "experiment": claim.experiment,
            "budget": views[claim.experiment].budget if finding.n else "",
            **dataclasses.asdict(finding),
        }
        for key in ("effect", "low", "high", "p"):
            row[key] = "" if math.isnan(row[key]) else f"{row[key]:.4g}"
        rows.append(row)
    return rows
