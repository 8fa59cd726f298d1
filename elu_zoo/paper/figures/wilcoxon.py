"""The paper's tests: Wilcoxon's signed-rank test of paired CIFAR-100 runs."""

from pathlib import Path

from elu_zoo.pairs import grouping, statistics, tables
from elu_zoo.pairs.grouping import Arm, Rows
from elu_zoo.pairs.plots import figures, palette
from elu_zoo.pairs.plots.dots import DotPanel, Dots
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.figures.fig4_cifar_curves import ERROR, LOSS, learned

Pair = tuple[list[float], list[float]]
_MEASURES = {ERROR: "test error %", LOSS: "training loss, last epoch"}


def _reference(rows: Rows) -> Arm:
    plain = [r for r in rows if r["batch_norm"] == "False"]
    return Arm(grouping.reference(plain), variant=plain[0]["variant"])


def _pairs(rows: Rows, first: Arm, column: str) -> dict[Arm, Pair]:
    """Returns an arm's final values, paired with the values of each other arm."""
    values = grouping.final_values(rows, first, column)
    pairs = {}
    for arm in grouping.arms(rows):
        pair = grouping.pairs(values, grouping.final_values(rows, arm, column))
        if arm != first and pair[0]:
            pairs[arm] = pair
    return pairs


def _label(arm: Arm) -> str:
    return palette.label(arm.activation, arm.batch_norm)


def _draw(rows: Rows, stem: Path) -> None:
    first = _reference(rows)
    axis, panels = f"{_label(first)} minus the other network", []
    for letter, (column, title) in zip("ab", _MEASURES.items(), strict=True):
        dots = []
        for arm, pair in _pairs(learned(rows), first, column).items():
            interval = statistics.paired_interval(*pair)
            ends = [interval.mean], [interval.low], [interval.high]
            name = f"{_label(arm)}, n = {interval.n}"
            dots.append(Dots(arm.activation, [name], *ends, arm.batch_norm))
        if dots:
            panels.append(DotPanel(f"{letter}  {title}", "", axis, dots, {"equal": 0}))
    if panels:
        figures.bars(panels, stem, height=3.6)


def _summary(rows: Rows) -> str:
    lines, first = [], _reference(rows)
    for column, title in _MEASURES.items():
        of_learned = _pairs(learned(rows), first, column)
        for arm, pair in _pairs(rows, first, column).items():
            comparison = statistics.paired(*pair)
            lines.append(
                [
                    title,
                    f"{_label(first)} - {_label(arm)}",
                    comparison.n,
                    tables.mean_difference(*pair),
                    f"{comparison.w:g}",
                    statistics.p_text(comparison),
                    f"{comparison.effect:+.2f}",
                    *_of_learned(of_learned.get(arm)),
                ]
            )
    titles = "measure", "pair", "n", "difference", "W", "p", "effect"
    titles += "n of pairs that learned", "the first of the pair is lower"
    return tables.markdown(titles, lines)


def _of_learned(pair: Pair | None) -> tuple[int, str]:
    """Returns the number of pairs, and the verdict of Wilcoxon's test."""
    if not pair:
        return 0, "not decided"
    comparison = statistics.paired(*pair)
    return comparison.n, statistics.verdict(comparison)


EXPERIMENT = Experiment(
    title="Wilcoxon's signed-rank tests",
    section="4.2",
    draw=_draw,
    summary=_summary,
    reads=("fig4", "fig5"),
    note=(
        "The paper's tests have ten runs of each network at the paper's own schedule. "
        "The tests here are two-sided and exact, and decide at p <= 0.05: n pairs that "
        "all agree have p = 2/2**n, which is 0.062 for five pairs and 0.031 for six. W "
        "is the sum of the ranks of the pairs in which ELU is higher. The effect is "
        "the rank-biserial correlation, which is -1 if ELU is lower in every pair. "
        "Intervals, the figure's error bars, are Student's. The last two columns "
        "and the figure have only pairs in which both runs ended better than chance."
    ),
)
