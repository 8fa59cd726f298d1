"""Verdicts of a comparison of activations, for the README."""

import math
from collections import defaultdict

from elu_zoo.compare import paired_tests
from elu_zoo.pairs import tables
from pages import runs


def at_best_rate(compared: runs.Rows) -> dict[str, runs.Rows]:
    """Returns rows by activation at its best rate, written last, or at the config's if none is."""
    best = {row["activation"]: row["factor"] for row in compared}
    return {
        name: [row for row in compared if (row["activation"], row["factor"]) == (name, factor)]
        for name, factor in best.items()
    }


def summary(compared: runs.Rows) -> str:
    """Returns a sentence with the reference's error and the activations of each verdict."""
    errors = {
        name: {int(row["seed"]): float(row["error"] or "nan") for row in rows}
        for name, rows in at_best_rate(compared).items()
    }
    reference, *others = paired_tests.compared(errors)
    verdicts = defaultdict(list)
    for each in sorted(others, key=lambda each: each.rank or math.inf):
        verdict = each.verdict + " (a run failed)" * (each.verdict == "not tested")
        verdicts[verdict].append(each.activation)
    texts = "; ".join(f"**{verdict}** {', '.join(names)}" for verdict, names in verdicts.items())
    against = f"{reference.activation} ({tables.mean(reference.errors.values())} %)"
    runs_of_each = f"activations, {len(errors[reference.activation])} runs each"
    return f"{len(errors)} {runs_of_each} at their best tried rates, against {against}: {texts}."
