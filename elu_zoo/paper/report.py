"""The report: each experiment's figure and numbers, and the paper's claims."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from elu_zoo.paper import claims, grouping, paired
from elu_zoo.paper.claims import CLAIMS
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.judging import VERDICTS, Finding
from elu_zoo.paper.views import View

NAME = "reproduction.md"
_HEAD = """# The paper's experiments, run again

Written by `elu-zoo-reproduce`. Runs of one seed are pairs: equal initial weights, equal
order of images, whatever the unit. `full` is the paper's own length, `short` what two
CPU cores do in hours, `smoke` a test of the way that says nothing. ± is the standard
deviation over runs. A claim *holds* where a one-sided exact Wilcoxon signed-rank test
of at least five pairs has p <= 0.05, and *does not hold* where the opposite one has;
of timings the 95 % interval of the ratio decides, of theorems the rounding of float64.
Each is tested by itself: of twenty claims that are not true, one may hold. *Ours* are
asked of a unit of which the paper does not claim it.
"""


def text(views: Mapping[str, View], found: Mapping[str, Finding]) -> str:
    """Returns the report in Markdown.

    Args:
        views: of the experiments that have points.
        found: findings by the claim's name.
    """
    parts = [_HEAD, "## The claims, counted", tally(claims.table(found, views))]
    for name, experiment in EXPERIMENTS.items():
        parts.append(f"## {experiment.title}")
        place = experiment.section
        parts.append(f"The paper, {'section ' * place[0].isdigit()}{place}.")
        if experiment.note:
            parts.append(experiment.note)
        command = f"elu-zoo-reproduce {name}"
        if name not in views:
            parts.append(f"Not run yet: `{command}`.")
            continue
        view = views[name]
        command += f" --budget={view.budget}"
        parts.append(f"Budget: {view.budget}{_length(view)}; `{command}`.")
        if view.diverged:
            parts.append(f"Left out, as they diverged: {'; '.join(view.diverged)}.")
        if experiment.draw:
            parts.append(f"![{experiment.title}](figures/{name}.png)")
        parts.append(experiment.summary(view.rows))
        own = view.rows.get(name, [])
        own = experiment.tested(own) if experiment.tested else own
        if tests := paired.table(own, experiment.compares):
            parts.append(f"Pairs of runs:\n\n{tests}")
    parts += ["## The claims, one by one", _claims(found, views)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def tally(rows: Iterable[Mapping[str, object]], page: str = "") -> str:
    """Returns how many claims of the paper each experiment decides, in Markdown.

    Args:
        rows: of claims.csv.
        page: where the report is; "" in the report itself.
    """
    rows = [row for row in rows if row["whose"] == "the paper's"]
    counts = Counter((row["experiment"], row["verdict"]) for row in rows)
    lines = []
    for name, experiment in EXPERIMENTS.items():
        own = [counts[name, verdict] for verdict in VERDICTS]
        if any(own):
            link = f"[{experiment.title}]({page}#{_anchor(experiment.title)})"
            lines.append([link, *(count or "" for count in own)])
    whole = [sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS]
    lines.append([f"all {len(rows)}", *whole])
    return grouping.markdown(("by unit and measure", *VERDICTS), lines)


def _anchor(title: str) -> str:
    """Returns a heading's address as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _length(view: View) -> str:
    """Returns the epochs of the runs, "" where there are none."""
    every = {row.get("epochs", "") for rows in view.rows.values() for row in rows}
    epochs = sorted(every - {""}, key=int)
    return f", {' or '.join(epochs)} epochs" if epochs else ""


def _claims(found: Mapping[str, Finding], views: Mapping[str, View]) -> str:
    lines = []
    for claim in CLAIMS:
        finding = found[claim.name]
        effect = ""
        if finding.effect == finding.effect:
            effect = f"{finding.effect:+.3g}"
            if finding.low == finding.low:
                effect += f" ({finding.low:+.3g} to {finding.high:+.3g})"
        lines.append(
            [
                "ours" if claim.ours else claim.section,
                claim.text,
                finding.measure,
                finding.n or "",
                effect,
                _p(finding),
                views[claim.experiment].budget if finding.n else "",
                f"**{finding.verdict}**",
            ]
        )
    titles = ("section", "claim", "measured", "n", "effect", "p", "budget")
    return grouping.markdown((*titles, "verdict"), lines)


def _p(finding: Finding) -> str:
    if finding.p != finding.p:
        return ""
    return "< 0.001" if finding.p < 0.001 else f"{finding.p:.3f}"
