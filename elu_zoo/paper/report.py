"""The report of the reproduction in Markdown: claims, figures and numbers."""

from collections.abc import Mapping, Sequence

from elu_zoo.pairs import tables
from elu_zoo.paper import claim_tables, claims
from elu_zoo.paper.claim_tables import Judged
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.views import View, schedule

NAME = "reproduction.md"
_HEAD = """# Reproduction of the paper's experiments

This report compares the ELU paper (Clevert, Unterthiner and Hochreiter, ICLR 2016,
arXiv 1511.07289) with our own runs. `elu-zoo-reproduce` wrote it. Two runs with the
same seed are a pair: their initial weights and the order of their images are equal,
whatever the activation. ± is the standard deviation over runs. BN is batch
normalisation.

In the figures of training, a line is the mean over runs with a band of one standard
deviation, or, where the text says so, the median with a band between the quartiles. A
thin line is a single run beside the mean of fewer than five runs. Networks with BN have
hollow markers and dashed lines, and validation losses dotted lines. Markers of lines are
far apart: each is on a measured point, but not every point has one.

## The paper's claims

n is the number of runs, pairs of runs, timing rounds or draws. The schedule is the
length of our runs beside the paper's.
"""
_CLAIMS = """## The claims in the paper's words

Every claim has one or more [tests](#the-tests-of-the-claims). The measured tests decide
its verdict:

- *reproduced*: all measured tests support the claim. Where the paper has training runs,
  ours have their length.
- *reproduced in early training*: all measured tests support the claim, in shorter runs.
- *contradicted*: all measured tests contradict the claim, in runs of the paper's
  length.
- *mixed*: measured tests disagree, or only some find a difference, or some of the
  experiment's runs diverged, or single layers of the networks disagree, in runs of the
  paper's length or shorter ones.
- *not tested*: nothing decides the claim. There are no runs, or no test finds a
  difference, or only shorter runs contradict the claim, or the measured effect cannot
  decide the claim. Only runs with the paper's optimizer and learning rates are tested.

The table has the first measured test of each claim, its effect with a 95 % interval,
and n.
"""
_TESTS = """A test supports or contradicts a claim if its Student's p, of at least five
pairs of runs, is at most 0.05. This p is two-sided, and Holm's method corrects it for
all tests of the claim and for their layers. The printed p and the intervals (Student's,
95 %) are without correction.

Other tests are decided without this p: timings by their 95 % bootstrap interval,
theorems by the rounding errors of float64, statements about a whole training by the mean
over runs in every epoch, an error of the paper by the lower end of the interval, and the
paper's own tests, p < 0.001, by Wilcoxon's exact p of at least ten pairs. Fewer are *too
few pairs*, which keep a claim from being reproduced. Differences that are *equal* in all
pairs decide nothing. A test has *diverged* if its runs diverged and left no pair.

Wilcoxon's p is one-sided in this table: it is at least 1/32 = 0.031 with five pairs and
1/1024 = 0.00098 with ten. The paper's p < 0.001 from ten runs is therefore possible by
an exact test only one-sided, and only if all ten pairs agree.

The column of layers has the range of their effects; *layers disagree* if some support the
claim and others contradict it. Tests marked as *ours* are about an activation, a measure
or a length of training that the paper does not have there. They take no part in the
verdict, and are corrected apart."""

_PAIRS = """Pairs of runs, by [Wilcoxon's test](#wilcoxons-signed-rank-tests). The p are
two-sided and not corrected for the number of tests."""


def text(views: Mapping[str, View], judged: Sequence[Judged]) -> str:
    """Returns the report.

    Args:
        views: rows by name of the experiment; experiments without rows are missing.
        judged: the claims, as `claim_tables.judge` returns them.
    """
    parts = [_HEAD, _overview(judged), _CLAIMS, _claims(judged), _gpu(judged)]
    for name in EXPERIMENTS:
        parts += _section(name, views.get(name))
    parts += ["## The tests of the claims", _TESTS, _tests(judged)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _overview(judged: Sequence[Judged]) -> str:
    """Returns one short line for each claim, in the order of the verdicts."""
    rows = claim_tables.table(judged)
    rows.sort(key=lambda row: claims.VERDICTS.index(row["verdict"]))
    lines = [
        (row["id"].replace("-", " "), row["n"] or "", row["schedule"], row["verdict"])
        for row in rows
    ]
    return tables.markdown(("claim", "n", "schedule", "verdict"), lines)


def _claims(judged: Sequence[Judged]) -> str:
    lines = []
    for row in claim_tables.table(judged):
        effect = tables.interval(row["effect"], row["low"], row["high"], signed=_is_signed(row))
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
            by_eye = " (by eye)" * (not any(t.find for t in each.claim.tests))
            needed.setdefault(each.claim.gpu, []).append(each.claim.text + by_eye)
    head = "Runs, and the claims that need them. *By eye*: no test decides the claim."
    lines = ["## What only a GPU can decide", "", head, ""]
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
    length = schedule(name, view) or experiment.trains
    parts.append(f"{length}. Command: `{command} --budget={view.budget}`.")
    parts += _shown(name, view, experiment.title, name)
    if experiment.compares:
        tested = experiment.tested(view.frame) if experiment.tested else view.frame
        if tests := tables.paired_tests(tested, experiment.compares):
            parts.append(f"{_PAIRS}\n\n{tests}")
    return parts + (_longer(name, view.longer) if view.longer else [])


def _longer(name: str, view: View) -> list[str]:
    """Returns the part of a section on runs of a longer budget, which has few seeds."""
    flag = f"--budget={view.budget}"
    count = len({row["seed"] for row in view.rows})
    seeds = "one seed" if count == 1 else f"{count} seeds"
    length = f"{schedule(name, view)}, {seeds} so far. These runs decide no claim."
    parts = [f"### {flag}", f"{length} Command: `elu-zoo-reproduce {name} {flag}`."]
    title = f"{EXPERIMENTS[name].title}, {flag}"
    return [*parts, *_shown(name, view, title, f"{name}_{view.budget}")]


def _shown(name: str, view: View, title: str, stem: str) -> list[str]:
    experiment, parts = EXPERIMENTS[name], []
    if view.diverged:
        parts.append(f"Left out because they diverged: {'; '.join(view.diverged)}.")
    if experiment.draw:
        parts.append(f"![{title}](figures/{stem}.png)")
    return [*parts, experiment.summary(view.frame)]


def _tests(judged: Sequence[Judged]) -> str:
    lines = []
    for row in claim_tables.table_of_tests(judged):
        effect = tables.interval(row["effect"], row["low"], row["high"], signed=_is_signed(row))
        numbers = row["n"] or "", effect, row["layers"]
        p = tables.p_value(row["p"]), tables.p_value(row["wilcoxon"])
        measure = row["measure"] + " (ours)" * (row["whose"] == "ours")
        cells = row["claim"], measure, row["supports_if"], *numbers, *p, row["outcome"]
        lines.append(cells)
    titles = "claim", "measured", "supports the claim if", "n", "effect", "layers"
    titles += "p", "Wilcoxon's p", "the test"
    return tables.markdown(titles, lines)
