"""The report of the reproduction: claims, figures and numbers, in Markdown."""

from collections.abc import Mapping, Sequence

from elu_zoo.paper import claims, tables
from elu_zoo.paper.claims import Judged
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.views import View

NAME = "reproduction.md"
_HEAD = """# Reproduction of the paper's experiments

Written by `elu-zoo-reproduce`. Runs of one seed are pairs: equal initial weights, equal
order of images, whatever the activation. ± is the standard deviation over runs.

## The paper's claims

*Reproduced*: all tests support the claim, with the paper's own length, optimizer and
learning rates. *Reproduced in early training*: they do in shorter runs of the paper's
recipe. *Contradicted*: all tests say the opposite. *Mixed*: layers, rates, networks or
measures disagree. *Not tested*: no run of ours can decide it, no test finds a
difference, or only runs shorter than the paper's contradict it. Runs of our own
schedules decide nothing. Effect, interval and n are of the first test that was
measured.
"""
_TESTS = """A test supports or contradicts a claim where Student's p of at least five
paired differences, two-sided and corrected by Holm's method for all tests of the claim,
is at most 0.05. Intervals are Student's, of 95 %, without correction. Wilcoxon's exact
one-sided p cannot be below 0.031 with five pairs, or below 0.001 with ten. Timings are
decided by their interval, theorems by the rounding of float64. A mean of layers decides
nothing where single layers support and contradict the claim. *Ours* are about an
activation for which the paper does not claim it; they take no part in the verdict."""

_PAIRS = """Pairs of runs, by [Wilcoxon's test](#wilcoxons-signed-rank-tests). The p are
not corrected for the number of tests."""


def text(views: Mapping[str, View], judged: Sequence[Judged]) -> str:
    """Returns the report.

    Args:
        views: rows by name of the experiment; experiments without rows are missing.
        judged: the claims, as `claims.judge` returns them.
    """
    parts = [_HEAD, _claims(judged), _gpu(judged)]
    for name in EXPERIMENTS:
        parts += _section(name, views.get(name))
    parts += ["## The tests of the claims", _TESTS, _tests(judged)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _claims(judged: Sequence[Judged]) -> str:
    lines = []
    for row in claims.table(judged):
        effect = tables.interval(
            row["effect"], row["low"], row["high"], signed=_is_signed(row)
        )
        measured = f"{row['measure']}: {effect}" if effect else ""
        supports_if = row["supports_if"] if effect else ""
        cells = row["claim"], row["reported"], measured, supports_if, row["schedule"]
        verdict = f"**{row['verdict']}**"
        n = row["n"] or ""
        lines.append([row["section"], *cells, n, row["tests"], verdict])
    titles = "section", "the paper", "it reports", "measured"
    titles += "supports the claim if", "schedule", "n", "tests", "verdict"
    return tables.markdown(titles, lines)


def _is_signed(row: Mapping[str, object]) -> bool:
    """Returns whether an effect is printed with its sign, as differences are."""
    return str(row["supports_if"]).endswith("than 0")


def _gpu(judged: Sequence[Judged]) -> str:
    """Returns the section on claims that are not tested because they need a GPU."""
    needed: dict[str, list[str]] = {}
    for each in judged:
        if each.claim.gpu and each.verdict == "not tested":
            needed.setdefault(each.claim.gpu, []).append(each.claim.text)
    lines = ["## What only a GPU can decide", "", "Runs, and claims they decide:", ""]
    for gpu, texts in needed.items():
        lines += [f"- {gpu}", *(f"  - {text}" for text in texts)]
    return "\n".join(lines)


def _section(name: str, view: View | None) -> list[str]:
    experiment = EXPERIMENTS[name]
    source = experiment.section
    parts = [f"## {experiment.title}"]
    parts.append(f"The paper, {'section ' * source[0].isdigit()}{source}.")
    if experiment.note:
        parts.append(experiment.note)
    command = f"elu-zoo-reproduce {name}"
    if not view:
        return [*parts, f"Not run yet: `{command}`."]
    schedule = claims.schedule(name, view) or "No training"
    parts.append(f"{schedule}. Command: `{command} --budget={view.budget}`.")
    if view.diverged:
        parts.append(f"Diverged runs, which are left out: {'; '.join(view.diverged)}.")
    if experiment.draw:
        parts.append(f"![{experiment.title}](figures/{name}.png)")
    parts.append(experiment.summary(view.rows))
    if experiment.compares:
        tested = experiment.tested(view.rows) if experiment.tested else view.rows
        if tests := tables.paired_tests(tested, experiment.compares):
            parts.append(f"{_PAIRS}\n\n{tests}")
    return parts


def _tests(judged: Sequence[Judged]) -> str:
    lines = []
    for row in claims.table_of_tests(judged):
        effect = tables.interval(
            row["effect"], row["low"], row["high"], signed=_is_signed(row)
        )
        numbers = row["n"] or "", effect, row["layers"]
        p = tables.p_value(row["p"]), tables.p_value(row["wilcoxon"])
        measure = row["measure"] + " (ours)" * (row["whose"] == "ours")
        cells = row["claim"], measure, row["supports_if"], *numbers, *p, row["outcome"]
        lines.append(cells)
    titles = "claim", "measured", "supports the claim if", "n", "effect", "layers"
    titles += "p", "Wilcoxon's p", "the test"
    return tables.markdown(titles, lines)
