"""Both sides of the equations of all lemmas and theorems agree, and disagree after a change."""

import dataclasses

import numpy as np

from elu_zoo.paper.figures import theorems
from elu_zoo.paper.theory import natural_gradient


def test_both_sides_are_equal_up_to_rounding():
    found = theorems.compute(None)
    statements = {row["statement"] for row in found}
    assert {x.split(",")[0] for x in statements} == {*theorems._STATEMENTS}
    draws = {row["draw"] for row in found}
    assert len(draws) >= 10 and len(found) == len(draws) * len(statements)
    assert all(0 <= row["distance"] < 1e-8 for row in found)


def test_both_sides_differ_for_wrong_inverses_and_covariances(monkeypatch):
    inv, solve, moments = np.linalg.inv, np.linalg.solve, natural_gradient.moments

    def wrong(*args):
        unit = moments(*args)
        return dataclasses.replace(unit, covariance=1.5 * unit.covariance)

    monkeypatch.setattr(np.linalg, "inv", lambda a: 1.5 * inv(a))
    monkeypatch.setattr(np.linalg, "solve", lambda a, b: 1.5 * solve(a, b))
    monkeypatch.setattr(natural_gradient, "moments", wrong)
    rows = sorted(theorems.compute(None), key=lambda row: row["distance"])
    largest = {row["statement"]: row["distance"] for row in rows}
    assert largest.pop("Theorem 1, s > 0") == 0 and min(largest.values()) > 0.01, largest
