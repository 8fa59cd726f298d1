"""Rules that turn the results of claim tests into one verdict for each claim.

A test supports or contradicts a claim if it has at least five pairs of runs and its
two-sided Student's p, corrected by Holm's method over all tests of the claim and their
layers, is at most 0.05. Tests without a p state their outcome themselves.
"""

import math
from collections.abc import Sequence
from typing import Literal

from elu_zoo.pairs import statistics
from elu_zoo.pairs.statistics import LEAST_PAIRS
from elu_zoo.paper.judging import Finding, Outcome, Support

Evidence = Literal["whole", "early", "none"]
VERDICTS = (
    "reproduced",
    "reproduced in early training",
    "contradicted",
    "mixed",
    "not tested",
)


def outcomes(tests: Sequence[tuple[Support, Finding]]) -> list[Outcome]:
    """Returns the outcome of each test of one claim.

    Args:
        tests: for each test the effects that support the claim, and the finding.
            Holm's method corrects all of them, and their layers, together.
    """
    findings = [x for _, finding in tests for x in (finding, *finding.layers)]
    corrected = iter(statistics.holm([x.p for x in findings if _is_tested(x)]))
    results = []
    for support, finding in tests:
        overall, *layers = [
            _outcome(support, x, next(corrected)) if _is_tested(x) else x.outcome
            for x in (finding, *finding.layers)
        ]
        disagree = {"supports", "contradicts"} <= set(layers)
        results.append("layers disagree" if disagree else overall or "not measured")
    return results


def evidence(budget: str, schedule_share: float) -> Evidence:
    """Returns what runs can decide: the whole claim, early training, or nothing.

    Args:
        budget: budget of the runs.
        schedule_share: length of the runs divided by the length of the paper's runs.
    """
    if budget == "smoke":
        return "none"
    return "whole" if schedule_share >= 1 else "early"


def verdict(test_outcomes: Sequence[Outcome], decides: Evidence) -> str:
    """Returns the verdict of a claim, one of `VERDICTS`.

    Args:
        test_outcomes: outcomes of the claim's tests, except those marked as ours.
        decides: what the runs can decide, see `evidence`.
    """
    measured = set(test_outcomes) - {"not measured", "decides nothing"}
    undecided = {"no difference", "diverged", "too few pairs", "equal"}
    if decides == "none" or measured <= undecided:
        return "not tested"
    if measured == {"supports"}:
        early = decides == "early"
        return "reproduced in early training" if early else "reproduced"
    if measured == {"contradicts"}:
        return "contradicted" if decides == "whole" else "not tested"
    return "mixed"


def _is_tested(finding: Finding) -> bool:
    return finding.n >= LEAST_PAIRS and not math.isnan(finding.p)


def _outcome(support: Support, finding: Finding, p: float) -> Outcome:
    if p > statistics.LEVEL:
        return "no difference"
    return "supports" if support.includes(finding.effect) else "contradicts"
