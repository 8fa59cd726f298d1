"""The report of the reproduction: claims, figures and numbers, in Markdown."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from elu_zoo.paper import tables
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.judging import VERDICTS
from elu_zoo.paper.views import View

NAME = "reproduction.md"
_HEAD = """# Reproduction of the paper's experiments

Written by `elu-zoo-reproduce`. Runs of one seed are pairs: equal initial weights, equal
order of images, whatever the activation. `full` is the paper's own length, `short` what
two CPU cores do in hours, `smoke` tests the code and decides nothing. ± is the standard
deviation over runs. A claim *holds* where a one-sided exact Wilcoxon signed-rank test
of at least five pairs has p <= 0.05, and *does not hold* where the opposite one has;
of timings the 95 % interval of the ratio decides, of theorems the rounding of float64.
Each claim is tested by itself: of twenty claims that are not true, one may hold. *Ours*
are about an activation for which the paper does not claim it.
"""
_Row = Mapping[str, Any]


def text(views: Mapping[str, View], claims: Sequence[_Row]) -> str:
    """Returns the report.

    Args:
        views: by experiment, of those that have rows.
        claims: as `claims.table` returns them.
    """
    parts = [_HEAD, "## The claims, counted", tally(claims)]
    for name in EXPERIMENTS:
        parts += _section(name, views.get(name))
    parts += ["## The claims, one by one", _claims(claims)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _section(name: str, view: View | None) -> list[str]:
    experiment = EXPERIMENTS[name]
    place = experiment.section
    parts = [f"## {experiment.title}"]
    parts.append(f"The paper, {'section ' * place[0].isdigit()}{place}.")
    if experiment.note:
        parts.append(experiment.note)
    command = f"elu-zoo-reproduce {name}"
    if not view:
        return [*parts, f"Not run yet: `{command}`."]
    parts.append(
        f"Budget: {view.budget}{_epochs(view)}; `{command} --budget={view.budget}`."
    )
    if view.diverged:
        parts.append(f"Left out, as they diverged: {'; '.join(view.diverged)}.")
    if experiment.draw:
        parts.append(f"![{experiment.title}](figures/{name}.png)")
    parts.append(experiment.summary(view.rows))
    if experiment.compares:
        tested = experiment.tested(view.rows) if experiment.tested else view.rows
        if tests := tables.paired_tests(tested, experiment.compares):
            parts.append(f"Pairs of runs:\n\n{tests}")
    return parts


def tally(claims: Sequence[_Row]) -> str:
    """Returns how many claims of the paper each experiment decides, in Markdown."""
    rows = [row for row in claims if row["whose"] == "the paper's"]
    counts = Counter((row["experiment"], row["verdict"]) for row in rows)
    lines = []
    for name, experiment in EXPERIMENTS.items():
        own = [counts[name, verdict] for verdict in VERDICTS]
        if any(own):
            link = f"[{experiment.title}](#{_anchor(experiment.title)})"
            lines.append([link, *(count or "" for count in own)])
    whole = [sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS]
    lines.append([f"all {len(rows)}", *whole])
    return tables.markdown(("by unit and measure", *VERDICTS), lines)


def _anchor(title: str) -> str:
    """Returns the address that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _epochs(view: View) -> str:
    epochs = sorted({row.get("epochs", "") for row in view.rows} - {""}, key=int)
    return f", {' or '.join(epochs)} epochs" if epochs else ""


def _claims(claims: Sequence[_Row]) -> str:
    lines = [
        [
            "ours" if row["whose"] == "ours" else row["section"],
            row["claim"],
            row["measure"],
            row["n"] or "",
            _effect(row),
            _p(row["p"]),
            row["budget"],
            f"**{row['verdict']}**",
        ]
        for row in claims
    ]
    titles = "section", "claim", "measured", "n", "effect", "p", "budget", "verdict"
    return tables.markdown(titles, lines)


def _effect(row: _Row) -> str:
    effect, low, high = (f"{row[key]:+.3g}" for key in ("effect", "low", "high"))
    if math.isnan(row["effect"]):
        return ""
    return effect if math.isnan(row["low"]) else f"{effect} ({low} to {high})"


def _p(p: float) -> str:
    if math.isnan(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
