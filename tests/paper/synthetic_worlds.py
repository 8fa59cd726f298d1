"""Worlds, which are synthetic rows of experiments, and outcomes of all claim tests."""

from synthetic_rows import FULL, TRAINED, view

from elu_zoo.paper import claim_tables
from elu_zoo.paper.experiments import EXPERIMENTS

CLAIMS = [(n, claim) for n, each in EXPERIMENTS.items() for claim in each.claims]
TESTS = {test.name: test for _, claim in CLAIMS for test in claim.tests}
EXPERIMENT = {test.name: n for n, claim in CLAIMS for test in claim.tests}
DECIDING_TESTS = [name for name in TESTS if EXPERIMENT[name] in TRAINED]


def judged(seen):
    """Returns the effect of each test, by the name of the test."""
    found = claim_tables.judge(seen)
    return {test.name: effect for each in found for test, effect in each.effects}


def outcomes(seen, names=DECIDING_TESTS):
    """Returns the outcomes of tests by name."""
    results = judged(seen)
    return {name: results[name].outcome for name in names}


def world(contradicts=False, plan=FULL, names=TRAINED):
    """Returns the views of experiments by name; see `rows_of` for the arguments."""
    return {name: view(name, plan, contradicts) for name in names}
