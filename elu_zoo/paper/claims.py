"""Verdicts of the paper's claims, and tables of the claims and of their tests."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from elu_zoo import results
from elu_zoo.paper import verdicts
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.judging import Claim, ClaimTest, Finding, Outcome
from elu_zoo.paper.views import View, epochs

COLUMNS = (
    "id section claim reported experiment schedule n measure supports_if effect low "
    "high tests gpu verdict"
).split()
TEST_COLUMNS = (
    "id whose claim experiment budget measure supports_if n effect low high layers p "
    "wilcoxon outcome"
).split()
# Texts of outcomes after the number of tests, for one test and for several tests.
_COUNTED = {
    "supports": ("supports", "support"),
    "contradicts": ("contradicts", "contradict"),
    "decides nothing": ("decides nothing", "decide nothing"),
    "layers disagree": ("with disagreeing layers",) * 2,
    "too few pairs": ("with too few pairs",) * 2,
    "equal": ("with equal differences",) * 2,
}
_NUMBERS = "effect", "low", "high", "p", "wilcoxon"
Table = list[dict[str, object]]


class Result(NamedTuple):
    """A claim test with its finding and its outcome."""

    test: ClaimTest
    finding: Finding
    outcome: Outcome


class Judged(NamedTuple):
    """A claim with its verdict and the results of its tests.

    Attributes:
        claim: the claim.
        experiment: name of the experiment whose rows were tested.
        view: the tested rows; None if the experiment has no rows.
        results: results of the tests, in the order of the claim.
        verdict: one of `verdicts.VERDICTS`.
    """

    claim: Claim
    experiment: str
    view: View | None
    results: list[Result]
    verdict: str


def judge(views: Mapping[str, View]) -> list[Judged]:
    """Returns all claims with their verdicts.

    Args:
        views: rows by name of the experiment; experiments without rows are missing.
    """
    return [
        _judge(name, claim, views.get(name))
        for name, experiment in EXPERIMENTS.items()
        for claim in experiment.claims
    ]


def _judge(name: str, claim: Claim, view: View | None) -> Judged:
    rows = view.rows if view else []
    counted = [test for test in claim.tests if test.counts(rows)]
    frame = view.frame if rows else None
    findings = {test: test.find(frame) for test in counted}
    outcomes: dict[ClaimTest, Outcome] = {}
    # Tests marked as ours take no part in the correction of the paper's tests.
    for ours in (False, True):
        tests = [test for test in counted if test.ours == ours]
        decided = verdicts.outcomes([(test.support, findings[test]) for test in tests])
        outcomes |= dict(zip(tests, decided, strict=True))
    of_paper = [outcome for test, outcome in outcomes.items() if not test.ours]
    if view and view.diverged:
        of_paper.append("diverged")  # the other runs alone decide no claim
    verdict = verdicts.verdict(of_paper, _evidence(name, view))
    of_tests = [Result(test, findings[test], outcomes[test]) for test in counted]
    return Judged(claim, name, view, of_tests, verdict)


def _evidence(name: str, view: View | None) -> verdicts.Evidence:
    if not view:
        return "none"
    experiment = EXPERIMENTS[name]
    share = 1.0
    if experiment.paper_epochs:
        share = min(epochs(view)) / experiment.paper_epochs
    return verdicts.evidence(view.budget, share)


def schedule(name: str, view: View | None) -> str:
    """Returns the length of the runs as text, "" if there are no runs."""
    experiment = EXPERIMENTS[name]
    if not view or not epochs(view):
        return ""
    text = " or ".join(map(str, epochs(view)))
    if experiment.paper_epochs:
        whose = f"{experiment.schedule_of}'s " * bool(experiment.schedule_of)
        text = f"{min(epochs(view))} of {whose}{experiment.paper_epochs}"
    return f"{text} epochs"


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
        measured = [result for result in each.results if result.finding.n]
        test, finding, _ = (measured or each.results)[0]
        counts = Counter(r.outcome for r in each.results if not r.test.ours)
        row = {
            "id": claim.name,
            "section": claim.section,
            "claim": claim.text,
            "reported": claim.reported,
            "experiment": each.experiment,
            "schedule": schedule(each.experiment, each.view),
            "n": finding.n,
            "measure": test.measure,
            "supports_if": test.supports_if,
            "effect": finding.effect,
            "low": finding.low,
            "high": finding.high,
            "tests": ", ".join(_count(*count) for count in counts.items())
            + ", runs diverged" * bool(each.view and each.view.diverged),
            "gpu": claim.gpu,
            "verdict": each.verdict,
        }
        rows.append(row)
    return rows


def _count(outcome: Outcome, n: int) -> str:
    return f"{n} {_COUNTED.get(outcome, (outcome, outcome))[n > 1]}"


def table_of_tests(judged: list[Judged]) -> Table:
    """Returns the rows of claim_tests.csv: the tests that measured something."""
    rows = []
    for each in judged:
        for test, finding, outcome in each.results:
            if outcome == "not measured" and not finding.n:
                continue
            row = {
                "id": test.name,
                "whose": "ours" if test.ours else "the paper's",
                "claim": each.claim.name,
                "experiment": each.experiment,
                "budget": each.view.budget if finding.n else "",
                "measure": test.measure,
                "supports_if": test.supports_if,
                **dataclasses.asdict(finding),
                "outcome": outcome,
                "layers": layers(finding),
            }
            rows.append({column: row[column] for column in TEST_COLUMNS})
    return rows


def write(path: Path, columns: Sequence[str], rows: Table) -> None:
    """Writes a table to a CSV file; effects and p have four digits."""
    texts = [
        {key: _text(value) if key in _NUMBERS else value for key, value in row.items()}
        for row in rows
    ]
    results.write(path, columns, texts)


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"
