"""Verdicts of the paper's claims, and tables of the claims and of their tests."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from elu_zoo import results
from elu_zoo.paper import verdicts
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.judging import Claim, Finding, Outcome
from elu_zoo.paper.views import View, epochs

COLUMNS = (
    "id section claim reported experiment schedule n measure supports_if effect low "
    "high tests gpu verdict"
).split()
TEST_COLUMNS = (
    "id whose claim experiment budget measure supports_if n effect low high layers p "
    "wilcoxon outcome"
).split()
_NUMBERS = "effect", "low", "high", "p", "wilcoxon"
Table = list[dict[str, object]]


@dataclasses.dataclass(frozen=True)
class Judged:
    """A claim with its verdict and the results of its tests.

    Attributes:
        claim: the claim.
        experiment: name of the experiment whose rows were tested.
        view: the tested rows; None if the experiment has no rows.
        findings: results of the tests, in the order of `claim.tests`.
        outcomes: outcomes of the tests, in the same order.
        verdict: one of `verdicts.VERDICTS`.
    """

    claim: Claim
    experiment: str
    view: View | None
    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
    verdict: str


def judge(views: Mapping[str, View]) -> list[Judged]:
    """Returns all claims with their verdicts.

    Args:
        views: rows by name of the experiment; experiments without rows are missing.
    """
    return [
        _judged(name, claim, views.get(name))
        for name, experiment in EXPERIMENTS.items()
        for claim in experiment.claims
    ]


def _judged(name: str, claim: Claim, view: View | None) -> Judged:
    findings = [test.find(view.rows) if view else Finding() for test in claim.tests]
    tests = [(t.support, f) for t, f in zip(claim.tests, findings, strict=True)]
    # The p of our tests and of the paper's tests are corrected separately.
    by_index: dict[int, Outcome] = {}
    for ours in (False, True):
        indices = [i for i, test in enumerate(claim.tests) if test.ours == ours]
        outcomes = verdicts.outcomes([tests[i] for i in indices])
        by_index |= dict(zip(indices, outcomes, strict=True))
    outcomes = tuple(by_index[i] for i in range(len(findings)))
    deciding = [by_index[i] for i, test in enumerate(claim.tests) if not test.ours]
    verdict = verdicts.verdict(deciding, _evidence(name, view))
    return Judged(claim, name, view, tuple(findings), outcomes, verdict)


def _evidence(name: str, view: View | None) -> verdicts.Evidence:
    if not view:
        return "none"
    experiment = EXPERIMENTS[name]
    share = 1.0
    if experiment.paper_epochs:
        share = min(epochs(view)) / experiment.paper_epochs
    own = view.budget in experiment.own_schedules
    return verdicts.evidence(view.budget, share, own_schedule=own)


def schedule(name: str, view: View | None) -> str:
    """Returns the length of the runs as text, "" if there are no runs."""
    experiment = EXPERIMENTS[name]
    if not view or not epochs(view):
        return ""
    text = " or ".join(map(str, epochs(view)))
    if experiment.paper_epochs:
        text = f"{min(epochs(view))} of {experiment.paper_epochs}"
    own = view.budget in experiment.own_schedules
    return f"{text} epochs" + ", our own schedule" * own


def layers(finding: Finding) -> str:
    """Returns the range of the layers' effects as text, "" if there are no layers."""
    effects = [layer.effect for layer in finding.layers]
    return f"{min(effects):+.2g} to {max(effects):+.2g}" if effects else ""


def table(judged: list[Judged]) -> Table:
    """Returns the rows of claims.csv.

    Effect and interval are those of the first test with a measured effect.
    """
    rows = []
    for each in judged:
        claim = each.claim
        measured = [i for i, finding in enumerate(each.findings) if finding.n]
        first = min(measured, default=0)
        finding = each.findings[first]
        counts = Counter(
            outcome
            for outcome, test in zip(each.outcomes, claim.tests, strict=True)
            if not test.ours
        )
        row = {
            "id": claim.name,
            "section": claim.section,
            "claim": claim.text,
            "reported": claim.reported,
            "experiment": each.experiment,
            "schedule": schedule(each.experiment, each.view),
            "n": finding.n,
            "measure": claim.tests[first].measure,
            "supports_if": str(claim.tests[first].support),
            "effect": finding.effect,
            "low": finding.low,
            "high": finding.high,
            "tests": ", ".join(f"{count} {name}" for name, count in counts.items()),
            "gpu": claim.gpu,
            "verdict": each.verdict,
        }
        rows.append(row)
    return rows


def table_of_tests(judged: list[Judged]) -> Table:
    """Returns the rows of claim_tests.csv."""
    rows = []
    for each in judged:
        of_tests = zip(each.claim.tests, each.findings, each.outcomes, strict=True)
        for test, finding, outcome in of_tests:
            row = {
                "id": test.name,
                "whose": "ours" if test.ours else "the paper's",
                "claim": each.claim.name,
                "experiment": each.experiment,
                "budget": each.view.budget if finding.n else "",
                "measure": test.measure,
                "supports_if": str(test.support),
                **dataclasses.asdict(finding),
                "outcome": outcome,
                "layers": layers(finding),
            }
            rows.append({column: row[column] for column in TEST_COLUMNS})
    return rows


def write(path: Path, rows: Table) -> None:
    """Writes a table to a CSV file; effects and p have four digits."""
    texts = [
        {key: _text(value) if key in _NUMBERS else value for key, value in row.items()}
        for row in rows
    ]
    results.write(path, list(rows[0]), texts)


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"
