"""Tables of the claims and of their tests: claims.csv and claim_tests.csv."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from elu_zoo import files, results
from elu_zoo.pairs import grouping
from elu_zoo.pairs.grouping import Arm
from elu_zoo.paper import claims
from elu_zoo.paper.claims import Claim, ClaimTest, Effect
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.views import View, schedule, schedule_share

COLUMNS = (
    "id section claim reported experiment schedule n measure supports_if effect low "
    "high tests verdict"
).split()
TEST_COLUMNS = (
    "id claim experiment measure supports_if n effect low high layers p outcome"
).split()
ERROR = "test_error_percent"
Table = list[dict[str, Any]]
Effects = list[tuple[ClaimTest, Effect]]


class Judged(NamedTuple):
    """A claim with the effects of its tests, and its verdict."""

    claim: Claim
    experiment: str
    view: View | None  # None if the experiment has no rows
    effects: Effects
    failures: list[str]
    verdict: str


def judge(views: Mapping[str, View]) -> list[Judged]:
    """Returns all claims with their verdicts; experiments without rows have no view."""
    return [
        _judge(name, claim, views.get(name))
        for name, experiment in EXPERIMENTS.items()
        for claim in experiment.claims
    ]


def _judge(name: str, claim: Claim, view: View | None) -> Judged:
    view = view and view.judged
    effects = claims.judge(claim, view.frame if view and view.rows else None)
    failures = _failures(name, claim, view, effects) if view else []
    outcomes = [*(effect.outcome for _, effect in effects), *failures]
    verdict = claims.verdict(outcomes, schedule_share(name, view))
    return Judged(claim, name, view, effects, failures, verdict)


def _failures(name: str, claim: Claim, view: View, effects: Effects) -> list[str]:
    """Returns how runs of the claim's tests failed, whose other runs alone decide no claim."""
    frame, failed = view.frame, {"diverged": {run.arm for run in view.diverged}}
    good = {*frame.groupby([*grouping.ARM], observed=True).groups} if view.diverged else set()
    if classes := EXPERIMENTS[name].classes:
        errors = grouping.ends(frame, [ERROR])[ERROR].dropna()
        learned = errors.map(lambda error: results.beats_chance(error, classes)).astype(bool)
        good = {key[:3] for key in errors[learned].index}
        failed["at chance"] = {Arm(x, *rest) for *rest, x, _ in errors[~learned].index}
    incomplete = any(effect.outcome == "not measured" for _, effect in effects)
    return [
        reason
        for reason, arms in failed.items()
        if any(
            _uses(claim, frame, effects, arm) if (*arm[1:], arm.activation) in good else incomplete
            for arm in arms
        )
    ]


def _uses(claim: Claim, frame: pd.DataFrame, effects: Effects, arm: Arm) -> bool:
    """Returns whether a claim's tests measure something else without the rows of an arm."""
    rest = frame.drop(grouping.of_arm(frame, arm).index)
    return str(claims.judge(claim, rest)) != str(effects)


def table(judged: Sequence[Judged]) -> Table:
    """Returns the rows of claims.csv.

    Effect and interval are those of the first test with a measured effect.
    """
    rows = []
    for claim, experiment, view, effects, failures, verdict in judged:
        first = next((pair for pair in effects if pair[1].n), None)
        outcomes = Counter(x.outcome for _, x in effects)
        counts = [f"{outcome}: {n}" for outcome, n in outcomes.items()]
        counts = [] if {*outcomes} == {"not measured"} else counts
        row = {
            "id": claim.name,
            "section": claim.section,
            "claim": claim.text,
            "reported": claim.reported,
            "experiment": experiment,
            "schedule": schedule(experiment, view),
            "tests": ", ".join([*counts, *(f"runs {failure}" for failure in failures)]),
            "verdict": verdict,
        }
        rows.append(row | (_of_test(*first) if first else {}))
    return rows


def _of_test(test: ClaimTest, effect: Effect) -> dict[str, object]:
    layers = [layer.effect for layer in effect.layers]
    return effect._asdict() | {
        "measure": test.measure,
        "supports_if": test.supports_if,
        "layers": f"{min(layers):+.2g} to {max(layers):+.2g}" if layers else "",
    }


def table_of_tests(judged: Sequence[Judged]) -> Table:
    """Returns the rows of claim_tests.csv: the tests that measured something."""
    rows = []
    for claim, experiment, _, effects, *_ in judged:
        for test, effect in effects:
            if effect.outcome == "not measured":
                continue
            row = {"id": test.name, "claim": claim.name, "experiment": experiment}
            rows.append(row | _of_test(test, effect))
    return rows


def write(folder: Path, judged: Sequence[Judged]) -> None:
    """Writes both tables to CSV files; effects and p have four digits."""
    for name, columns, rows in (
        ("claims.csv", COLUMNS, table(judged)),
        ("claim_tests.csv", TEST_COLUMNS, table_of_tests(judged)),
    ):
        text = pd.DataFrame(rows, columns=columns).to_csv(index=False, float_format="%.4g")
        files.write_bytes(folder / name, text.encode())
