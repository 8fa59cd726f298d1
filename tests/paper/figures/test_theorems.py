"""Both sides of the equations of all lemmas and theorems agree."""

from elu_zoo.paper.figures import theorems


def test_both_sides_are_equal_up_to_rounding():
    found = theorems.compute(None)
    statements = {row["statement"] for row in found}
    names = {statement.partition(",")[0] for statement in statements}
    assert names == {"Lemma 1", "Lemma 2", "Theorem 1", "Theorem 2"}
    draws = {row["draw"] for row in found}
    assert len(draws) >= 10 and len(found) == len(draws) * len(statements)
    assert all(0 <= row["distance"] < 1e-8 for row in found)
