"""A claim's verdict follows from the outcomes of tests and the length of the runs."""

import math

import pytest

from elu_zoo.paper import verdicts
from elu_zoo.paper.judging import Finding, Support


def finding(effect, p, n=5, layers=()):
    return Finding(n, effect, p=p, layers=tuple(layers))


SMALLER = Support()


def outcomes(*findings, support=SMALLER):
    return verdicts.outcomes([(support, each) for each in findings])


@pytest.mark.parametrize(
    ("support", "effect", "outcome"),
    [
        (Support("larger"), 1, "supports"),
        (Support("larger"), -1, "contradicts"),
        (Support("larger", 2), 1, "contradicts"),
        (Support("smaller", 2), 1, "supports"),
    ],
)
def test_the_sense_and_the_limit_decide_the_outcome(support, effect, outcome):
    layers = [finding(effect, 0.001)]
    assert outcomes(finding(effect, 0.001, layers=layers), support=support) == [outcome]


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ([finding(-1, 0.05)], ["supports"]),
        ([finding(1, 0.05)], ["contradicts"]),
        ([finding(-1, 0.051)], ["no difference"]),
        ([finding(-1, 0.001, n=4)], ["not measured"]),
        ([Finding()], ["not measured"]),
        ([Finding(9, 1.1, outcome="contradicts")], ["contradicts"]),
        # Holm's method doubles the smaller of two p. The larger p stays, but becomes
        # the doubled p if that is larger.
        ([finding(-1, 0.03), finding(-1, 0.04)], ["no difference"] * 2),
        ([finding(-1, 0.02), finding(1, 0.04)], ["supports", "contradicts"]),
        # The correction excludes tests without p.
        ([finding(-1, 0.04), Finding(), Finding(9, outcome="supports")],
         ["supports", "not measured", "supports"]),
        ([finding(-1, 0.001, layers=[finding(-1, 0.001), finding(1, 0.5)])],
         ["supports"]),
        ([finding(-1, 0.001, layers=[finding(-1, 0.001), finding(1, 0.001)])],
         ["layers disagree"]),
        # The correction includes the tests of single layers.
        ([finding(-1, 0.02, layers=[finding(-1, 0.02), finding(-1, 0.02)])],
         ["no difference"]),
        ([], []),
    ]
)  # fmt: skip
def test_outcomes_follow_from_corrected_p(tests, expected):
    assert outcomes(*tests) == expected


def test_layers_decide_the_outcome_of_their_test_only():
    layers = [finding(-1, 1e-4), finding(1, 1e-4)]
    tests = [finding(-1, 1e-4), finding(1, 1e-4, layers=layers), finding(1, 1e-4)]
    assert outcomes(*tests) == ["supports", "layers disagree", "contradicts"]


@pytest.mark.parametrize(
    ("budget", "schedule_share", "expected"),
    [
        ("full", 1, "whole"),
        ("full", 0.999, "early"),
        ("short", 0.02, "early"),
        ("smoke", 1, "none"),
    ],
)
def test_budget_and_schedule_decide_evidence(budget, schedule_share, expected):
    assert verdicts.evidence(budget, schedule_share) == expected


YES, NO, OPEN, MISSING = "supports", "contradicts", "no difference", "not measured"
DIVERGED, FEW = "diverged", "too few pairs"
REPORTED = "decides nothing"  # the outcome of a test that only reports an effect


@pytest.mark.parametrize(
    ("outcomes", "whole", "early"),
    [
        ([YES, YES], "reproduced", "reproduced in early training"),
        ([YES, MISSING], "reproduced", "reproduced in early training"),
        ([NO, NO, MISSING], "contradicted", "not tested"),
        ([YES, NO], "mixed", "mixed"),
        ([YES, OPEN], "mixed", "mixed"),
        ([NO, OPEN], "mixed", "mixed"),
        (["layers disagree"], "mixed", "mixed"),
        ([OPEN, OPEN], "not tested", "not tested"),
        ([MISSING], "not tested", "not tested"),
        ([YES, DIVERGED], "mixed", "mixed"),
        ([DIVERGED, OPEN, FEW], "not tested", "not tested"),
        ([YES, FEW], "mixed", "mixed"),
        ([YES, REPORTED], "reproduced", "reproduced in early training"),
        ([REPORTED], "not tested", "not tested"),
        ([], "not tested", "not tested"),
    ],
)
def test_verdict_follows_from_outcomes_and_evidence(outcomes, whole, early):
    assert verdicts.verdict(outcomes, "whole") == whole
    assert verdicts.verdict(outcomes, "early") == early
    assert verdicts.verdict(outcomes, "none") == "not tested"
    assert {whole, early} <= set(verdicts.VERDICTS)


def test_a_finding_whose_p_is_nan_is_not_measured():
    assert outcomes(finding(-1, math.nan)) == ["not measured"]
