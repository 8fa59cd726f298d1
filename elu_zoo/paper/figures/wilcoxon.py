"""The paper's tests: Wilcoxon's signed-rank test of paired CIFAR-100 runs."""

from pathlib import Path

import pandas as pd

from elu_zoo.pairs import grouping, palette, plots, statistics, tables
from elu_zoo.pairs.grouping import Arm
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.figures import fig4_cifar_curves as fig4

Pair = tuple[list[float], list[float]]
_MEASURES = fig4.COMPARED


def _reference(frame: pd.DataFrame) -> Arm:
    plain = frame[~frame["batch_norm"]]
    return Arm(grouping.reference(plain), variant=plain["variant"].iloc[0])


def _pairs(frame: pd.DataFrame, first: Arm, column: str) -> dict[Arm, Pair]:
    """Returns an arm's final values, paired with the values of each other arm."""
    values = grouping.final_values(frame, first, column)
    pairs = {}
    for arm in grouping.arms(frame):
        pair = grouping.pairs(values, grouping.final_values(frame, arm, column))
        if arm != first and pair[0]:
            pairs[arm] = pair
    return pairs


def _label(arm: Arm) -> str:
    return palette.label(arm.activation, arm.batch_norm)


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    first = _reference(frame)
    with plots.figure(stem, [len(_MEASURES)], 3.6) as [row]:
        for axes, letter, (column, title) in zip(row, "ab", _MEASURES.items(), strict=True):
            dots = []
            for arm, pair in _pairs(fig4.learned(frame), first, column).items():
                found = statistics.paired_interval(*pair)
                name, ends = f"{_label(arm)}, n = {found.n}", (found.mean, found.low, found.high)
                dots.append((arm.activation, arm.batch_norm, name, *ends))
            columns = ["activation", "batch_norm", "pair", "middle", "low", "high"]
            table = pd.DataFrame(dots, columns=columns)
            # Without an order, the legend would be in alphabetical order.
            names = pd.Categorical(table["activation"], table["activation"].unique())
            if dots:
                plots.dots(axes, table.assign(activation=names), "pair", horizontal=True)
            axes.axvline(0, label="equal", **plots.REFERENCE)
            axes.set(title=f"{letter}  {title}", xlabel=f"{_label(first)} minus the other network")


def _summary(frame: pd.DataFrame) -> str:
    lines, first = [], _reference(frame)
    for column, title in _MEASURES.items():
        of_learned = _pairs(fig4.learned(frame), first, column)
        for arm, pair in _pairs(frame, first, column).items():
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
