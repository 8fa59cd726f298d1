"""The paper's tests: Wilcoxon's signed ranks over paired CIFAR-100 runs."""

from collections.abc import Mapping
from pathlib import Path

from elu_zoo.paper import grouping, paired, statistics
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.figures import fig4_cifar_curves
from elu_zoo.paper.judging import NOT_DECIDED
from elu_zoo.paper.plots import figures, palette
from elu_zoo.paper.plots.dots import DotPanel, Dots

_MEASURES = (
    ("test_error_percent", "test error %"),
    ("train_loss", "training loss"),
)


def comparisons(
    rows: Mapping[str, Rows], measure: str, learned: bool = False
) -> dict[grouping.Arm, statistics.Comparison]:
    """Returns `grouping.reference`, without batch norm, against every other arm.

    Args:
        rows: of `fig4` and `fig5`.
        measure: the column whose last value is compared.
        learned: whether only of runs that ended better than chance.
    """
    own = [row for row in rows["fig4"] if not row["variant"]]
    every = own + rows["fig5"]
    first = (grouping.reference(own), False, "")
    counted = fig4_cifar_curves.learned(every) if learned else every
    ours = grouping.finals(counted, first, measure)
    found = {}
    for arm in grouping.arms(every):
        pair = grouping.pairs(ours, grouping.finals(counted, arm, measure))
        if arm != first and pair[0]:
            found[arm] = statistics.paired(*pair)
    return found


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    name = palette.label(grouping.reference(rows["fig4"]))
    panels = []
    for letter, (measure, title) in zip("ab", _MEASURES, strict=True):
        dots = [
            Dots(arm[0], [_name(arm)], [c.difference], [c.low], [c.high], arm[1])
            for arm, c in comparisons(rows, measure).items()
        ]
        panels.append(
            DotPanel(
                f"{letter}  {title}", "", f"{name} minus the other", dots, {"equal": 0}
            )
        )
    shown = [panel for panel in panels if panel.dots]
    if shown:  # with one unit alone there is nothing to compare
        figures.bars(shown, stem, height=3.6)


def _name(arm: grouping.Arm) -> str:
    return palette.label(arm[0], arm[1])


def _summary(rows: Mapping[str, Rows]) -> str:
    lines, name = [], palette.label(grouping.reference(rows["fig4"]))
    for measure, title in _MEASURES:
        learned = comparisons(rows, measure, learned=True)
        for arm, found in comparisons(rows, measure).items():
            decisive = learned.get(arm)
            lines.append(
                [
                    title,
                    f"{name} - {_name(arm)}",
                    found.n,
                    paired.interval(found),
                    f"{found.w:g}",
                    statistics.p_text(found),
                    f"{found.effect:+.2f}",
                    decisive.n if decisive else 0,
                    statistics.verdict(decisive) if decisive else NOT_DECIDED,
                ]
            )
    titles = (
        "measure",
        "pair",
        "n",
        "difference",
        "W",
        "p",
        "effect",
        "of runs that learned",
        "the first is lower",
    )
    return grouping.markdown(titles, lines)


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
