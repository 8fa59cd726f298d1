"""The paper's tests: Wilcoxon's signed ranks of paired CIFAR-100 runs."""

from pathlib import Path

from elu_zoo.paper import grouping, statistics, tables
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.figures.fig4_cifar_curves import ERROR, LOSS, learned
from elu_zoo.paper.grouping import Arm, Rows
from elu_zoo.paper.judging import NOT_DECIDED
from elu_zoo.paper.plots import figures, palette
from elu_zoo.paper.plots.dots import DotPanel, Dots

_MEASURES = {ERROR: "test error %", LOSS: "training loss"}


def _reference(rows: Rows) -> Arm:
    plain = [r for r in rows if not r["variant"] and r["batch_norm"] == "False"]
    return Arm(grouping.reference(plain))


def comparisons(
    rows: Rows, first: Arm, column: str
) -> dict[Arm, statistics.Comparison]:
    """Returns the tests of an arm's final values against those of each other arm."""
    own = [row for row in rows if not row["variant"]]
    values = grouping.final_values(own, first, column)
    found = {}
    for arm in grouping.arms(own):
        pair = grouping.pairs(values, grouping.final_values(own, arm, column))
        if arm != first and pair[0]:
            found[arm] = statistics.paired(*pair)
    return found


def _label(arm: Arm) -> str:
    return palette.label(arm.activation, arm.batch_norm)


def _draw(rows: Rows, stem: Path) -> None:
    first = _reference(rows)
    axis, panels = f"{_label(first)} minus the other", []
    for letter, (column, title) in zip("ab", _MEASURES.items(), strict=True):
        dots = [
            Dots(
                arm.activation,
                [_label(arm)],
                [found.difference],
                [found.low],
                [found.high],
                arm.batch_norm,
            )
            for arm, found in comparisons(rows, first, column).items()
        ]
        if dots:
            panels.append(DotPanel(f"{letter}  {title}", "", axis, dots, {"equal": 0}))
    if panels:
        figures.bars(panels, stem, height=3.6)


def _summary(rows: Rows) -> str:
    lines, first = [], _reference(rows)
    for column, title in _MEASURES.items():
        of_learned = comparisons(learned(rows), first, column)
        for arm, found in comparisons(rows, first, column).items():
            decisive = of_learned.get(arm)
            lines.append(
                [
                    title,
                    f"{_label(first)} - {_label(arm)}",
                    found.n,
                    tables.interval(found),
                    f"{found.w:g}",
                    statistics.p_text(found),
                    f"{found.effect:+.2f}",
                    decisive.n if decisive else 0,
                    statistics.verdict(decisive) if decisive else NOT_DECIDED,
                ]
            )
    titles = "measure", "pair", "n", "difference", "W", "p", "effect"
    return tables.markdown(
        (*titles, "of runs that learned", "the first is lower"), lines
    )


EXPERIMENT = Experiment(
    title="Wilcoxon's signed-rank tests",
    section="4.2",
    draw=_draw,
    summary=_summary,
    reads=("fig4", "fig5"),
    note=(
        "The paper's tests are of ten runs each of its own schedule. n pairs that all "
        "agree give p = 1/2**n, one-sided: five reach 0.031. Tests are one-sided and "
        "exact; W sums the ranks of pairs in which "
        "ELU is higher; the effect is the rank-biserial correlation, -1 where ELU is "
        "lower in every pair; intervals are bootstrapped over pairs, too narrow for "
        "few. The last column is of the pairs of two runs that ended better than "
        "chance, which the column before it counts."
    ),
)
