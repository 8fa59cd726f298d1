"""The paper's tests: Wilcoxon's signed ranks over paired CIFAR-100 runs."""

from collections.abc import Mapping
from pathlib import Path

from elu_zoo.analysis import figures, palette, significance
from elu_zoo.analysis.dots import DotPanel, Dots
from elu_zoo.experiments import cifar_curves, frames, paired
from elu_zoo.experiments.experiment import Experiment, Rows
from elu_zoo.experiments.judging import NOT_DECIDED

_MEASURES = (
    ("test_error_percent", "test error %"),
    ("train_loss", "training loss"),
)


def comparisons(
    rows: Mapping[str, Rows], measure: str, learned: bool = False
) -> dict[frames.Arm, significance.Comparison]:
    """Returns `frames.reference`, without batch norm, against every other arm.

    Args:
        rows: of `fig4` and `fig5`.
        measure: the column whose last value is compared.
        learned: whether only of runs that ended better than chance.
    """
    own = [row for row in rows["fig4"] if not row["variant"]]
    every = own + rows["fig5"]
    first = (frames.reference(own), False, "")
    counted = cifar_curves.learned(every) if learned else every
    ours = frames.finals(counted, first, measure)
    found = {}
    for arm in frames.arms(every):
        pair = frames.pairs(ours, frames.finals(counted, arm, measure))
        if arm != first and pair[0]:
            found[arm] = significance.paired(*pair)
    return found


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    name = palette.label(frames.reference(rows["fig4"]))
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


def _name(arm: frames.Arm) -> str:
    return palette.label(arm[0], arm[1])


def _summary(rows: Mapping[str, Rows]) -> str:
    lines, name = [], palette.label(frames.reference(rows["fig4"]))
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
                    significance.p_text(found),
                    f"{found.effect:+.2f}",
                    decisive.n if decisive else 0,
                    significance.verdict(decisive) if decisive else NOT_DECIDED,
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
    return frames.markdown(titles, lines)


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
