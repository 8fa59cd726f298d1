"""The report of the reproduction in Markdown: claims, figures and numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence

from elu_zoo.pairs import tables
from elu_zoo.paper import claim_tables
from elu_zoo.paper.claim_tables import Judged
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.views import View, schedule

NAME = "reproduction.md"
_HEAD = """# Reproduction of the paper's experiments

{evidence}

This report compares the ELU paper (Clevert, Unterthiner and Hochreiter, ICLR 2016,
arXiv 1511.07289) with our own runs. `elu-zoo-reproduce` wrote it. Two runs with the
same seed are a pair: their initial weights and the order of their images are equal,
whatever the activation. ± is the standard deviation over runs. BN is batch
normalisation.

In the figures of training, a line is the mean over runs with a band of one standard
deviation, or, where the text says so, the median with a band between the quartiles. A
thin line is a single run beside the mean of fewer than five runs. Networks with BN have
hollow markers and dashed lines, and validation losses dotted lines.

## The paper's claims

Each claim has the first of its measured tests with n, the number of runs, pairs of runs,
timing rounds or draws, and the outcomes of all. The schedule is the length of our runs
beside the paper's. The verdicts are:

- *reproduced*: all tests support the claim. Where the paper has training runs,
  ours have their length; if they are shorter, it is *reproduced in early training*.
- *contradicted*: all measured tests contradict the claim, in runs of the paper's length.
- *different*: our numbers differ from the paper's, in runs of the paper's length. Where the
  paper leaves its recipe open, ours may be another.
- *mixed*: measured tests or single layers disagree, or only some find a difference, or measured
  tests support it and others have no runs, or runs of the tests diverged or stayed at chance.
- *undecided*: no test finds a difference.
- *not tested*: there are no runs, too few, or only shorter ones that contradict the claim, or
  no measure could decide it. Runs with other optimizers or learning rates do not count.

A test supports or contradicts a claim if its two-sided Student's p, of at least five pairs of runs
and corrected by Holm's method for all tests of the claim and their layers, is at most 0.05. Timings
are decided by their 95 % bootstrap interval, theorems by the rounding errors of float64, statements
about a whole training by the stored epoch that supports them least (p times the number of epochs if
it contradicts), and the paper's own tests, p < 0.001, by Wilcoxon's exact one-sided p of at least
ten pairs. A number of the paper is supported if ours is equivalent: if the 95 % interval of our
mean minus the paper's, by the larger deviation (of one run, the paper's) and the number of the
paper's runs, is within a stated limit. Else it *differs* if that interval excludes 0, even if our
error is lower. These two kinds of test are *inconclusive* if they decide nothing. Our choices of a
damping, a share of the covariances, a limit of a loss, and in figures 2 and 7 of a window of epochs
and an average over units have tests at three values; those of an early epoch (5), of the limits of
flatness and of equality with the paper's numbers, and of the theory's phases and medians at one.
Differences that are *equal* in all pairs decide nothing, nor do *too few pairs*. A test has
*diverged* if runs that diverged left it no pair, or if only in some pairs one of two activations
diverged alone. [All measured tests](claim_tests.csv) have their p and intervals, without
correction.
"""


def text(views: Mapping[str, View], judged: Sequence[Judged]) -> str:
    """Returns the report in Markdown; that of smoke runs has only experiments with rows."""
    smoke = {view.budget for view in views.values()} == {"smoke"}
    names = [name for name in EXPERIMENTS if name in views or not smoke]
    judged = [each for each in judged if each.experiment in names]
    parts = [_HEAD.format(evidence=_evidence(judged)), _claims(judged)]
    for name in names:
        parts += _section(name, views.get(name))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _evidence(judged: Sequence[Judged]) -> str:
    """Returns a sentence on how many claims are decided, by which data."""
    decided = [each for each in judged if each.verdict not in ("undecided", "not tested")]
    counts = Counter(EXPERIMENTS[each.experiment].data for each in decided)
    data = ", ".join(f"{n} by {name}" for name, n in counts.most_common())
    rest = f"{len(judged) - len(decided)} of {len(judged)} claims are undecided or not tested."
    return f"Verdicts by data: {data}; {rest}" if data else f"No verdicts: {rest}"


def _claims(judged: Sequence[Judged]) -> str:
    lines = []
    for row in claim_tables.table(judged):
        measured, supports_if = "", row.get("supports_if", "")
        if supports_if:
            signed = supports_if.endswith("than 0") or "±" in supports_if
            effect = tables.interval(row["effect"], row["low"], row["high"], signed=signed)
            measured = f"{row['measure']}: {effect}"
        cells = row["claim"], row["reported"], measured, supports_if, row["schedule"]
        n, verdict = row.get("n", ""), f"**{row['verdict']}**"
        lines.append([row["section"], *cells, n, row["tests"], verdict])
    titles: tuple[str, ...] = "section", "the paper", "it reports", "measured"
    titles += "supports the claim if", "schedule", "n", "tests", "verdict"
    return tables.markdown(titles, lines)


def _section(name: str, view: View | None) -> list[str]:
    experiment = EXPERIMENTS[name]
    source = experiment.section
    parts = [f"## {experiment.title}"]
    parts.append(f"The paper, {'section ' * source[0].isdigit()}{source}.")
    if experiment.note:
        parts.append(experiment.note)
    command = f"elu-zoo-reproduce {name}"
    if not view:
        return [*parts, f"Not run yet, or all runs diverged: `{command}`."]
    length = schedule(name, view) or "No training"
    parts.append(f"{length}. Command: `{command} --budget={view.budget}{_seeds(name, view)}`.")
    parts += _shown(name, view, experiment.title, name)
    if longer := view.longer:
        flag, length = f"--budget={longer.budget}", f"{schedule(name, longer)}, too few seeds."
        parts += [f"### {flag}", f"{length} Command: `{command} {flag}{_seeds(name, longer)}`."]
        parts += _shown(name, longer, f"{experiment.title}, {flag}", f"{name}_{longer.budget}")
    return parts


def _seeds(name: str, view: View) -> str:
    seeds = {row["seed"] for row in view.rows if row.get("seed")}
    return f" --seeds={len(seeds)}" if EXPERIMENTS[name].trials and seeds else ""


def _shown(name: str, view: View, title: str, stem: str) -> list[str]:
    experiment, parts = EXPERIMENTS[name], []
    if view.diverged:
        parts.append(f"Left out because they diverged: {'; '.join(map(str, view.diverged))}.")
    if experiment.draw:
        parts.append(f"![{title}](figures/{stem}.png)")
    if experiment.summary:
        parts.append(experiment.summary(view.frame))
    return parts
