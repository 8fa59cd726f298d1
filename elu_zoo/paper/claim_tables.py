"""Tables of the claims and of their tests: claims.csv and claim_tests.csv."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from elu_zoo import results
from elu_zoo.paper import claims
from elu_zoo.paper.claims import Claim, ClaimTest, Effect
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.views import View, schedule, schedule_share

COLUMNS = (
    "id section claim reported experiment schedule n measure supports_if effect low "
    "high tests verdict"
).split()
TEST_COLUMNS = (
    "id whose claim experiment budget measure supports_if n effect low high layers p "
    "wilcoxon outcome"
).split()
_NUMBERS = "effect", "low", "high", "p", "wilcoxon"
Table = list[dict[str, object]]


class Judged(NamedTuple):
    """A claim with the effects in the rows of an experiment, and its verdict."""

    claim: Claim
    experiment: str
    view: View | None  # None if the experiment has no rows
    effects: list[tuple[ClaimTest, Effect]]
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
    effects = claims.judge(claim, view.frame if view and view.rows else None)
    outcomes = [effect.outcome for test, effect in effects if test.in_paper]
    if view and view.diverged:
        outcomes.append("diverged")  # the other runs alone decide no claim
    verdict = claims.verdict(outcomes, schedule_share(name, view))
    return Judged(claim, name, view, effects, verdict)


def table(judged: Sequence[Judged]) -> Table:
    """Returns the rows of claims.csv.

    Effect and interval are those of the first test with a measured effect.
    """
    rows = []
    for claim, experiment, view, effects, verdict in judged:
        test, effect = next((pair for pair in effects if pair[1].n), effects[0])
        outcomes = [x.outcome for t, x in effects if t.in_paper and x.outcome != "not measured"]
        counts = [f"{outcome}: {n}" for outcome, n in Counter(outcomes).items()]
        row = {
            "id": claim.name,
            "section": claim.section,
            "claim": claim.text,
            "reported": claim.reported,
            "experiment": experiment,
            "schedule": schedule(experiment, view),
            **_of_test(test, effect),
            "tests": ", ".join(counts + ["runs diverged"] * bool(view and view.diverged)),
            "verdict": verdict,
        }
        rows.append({column: row[column] for column in COLUMNS})
    return rows


def _of_test(test: ClaimTest, effect: Effect) -> dict[str, object]:
    return {"measure": test.measure, "supports_if": test.supports_if, **effect._asdict()}


def table_of_tests(judged: Sequence[Judged]) -> Table:
    """Returns the rows of claim_tests.csv: the tests that measured something."""
    rows = []
    for claim, experiment, view, effects, _ in judged:
        for test, effect in effects:
            if effect.outcome == "not measured" and not effect.n:
                continue
            row = {
                "id": test.name,
                "whose": "the paper's" if test.in_paper else "ours",
                "claim": claim.name,
                "experiment": experiment,
                "budget": view.budget if effect.n else "",
                **_of_test(test, effect),
                "layers": _layers(effect),
            }
            rows.append({column: row[column] for column in TEST_COLUMNS})
    return rows


def _layers(effect: Effect) -> str:
    """Returns the range of the layers' effects as text, "" if there are no layers."""
    effects = [layer.effect for layer in effect.layers]
    return f"{min(effects):+.2g} to {max(effects):+.2g}" if effects else ""


def write(folder: Path, judged: Sequence[Judged]) -> None:
    """Writes both tables to CSV files; effects and p have four digits."""
    for name, columns, rows in (
        ("claims.csv", COLUMNS, table(judged)),
        ("claim_tests.csv", TEST_COLUMNS, table_of_tests(judged)),
    ):
        texts = [{k: _text(v) if k in _NUMBERS else v for k, v in row.items()} for row in rows]
        results.write(folder / name, columns, texts)


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"
