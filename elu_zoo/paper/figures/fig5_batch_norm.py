"""Figure 5: the networks of figure 4 with and without batch normalisation."""

from pathlib import Path
from string import ascii_lowercase

import pandas as pd

from elu_zoo.pairs import palette, plots, tables
from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.figures import fig4_cifar_curves as fig4

# Smallest improvement that counts, in percentage points: the standard deviation of
# ELU's test error over the paper's ten runs (section 4.2).
_RELEVANT = 0.24


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs with batch normalisation, grouped by seed."""
    activations = plan.of(fig4.ACTIVATIONS[:2], fig4.ACTIVATIONS[:2], fig4.ACTIVATIONS)
    return [
        fig4.trial(plan, activation, seed, batch_norm=True)
        for seed in plan.runs(1, 5, 10)
        for activation in activations
    ]


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    (first, *names), found = fig4.ACTIVATIONS, set(frame["activation"][frame["batch_norm"]])
    others = [name for name in names if name in found] or [first]
    end = frame[frame["step"] >= frame["step"].max() * 2 / 3]
    with plots.figure(stem, [2] * len(others), 2.5 * len(others) + 0.4) as grid:
        for letter, row, other in zip(ascii_lowercase, grid, others, strict=False):
            for axes, part in zip(row, (frame, end), strict=True):
                plots.curves(
                    axes, part[part["activation"].isin([first, other])], "step", fig4.ERROR
                )
                axes.set(xlabel="iteration", ylabel="test error, %")
            row[0].axhline(fig4.CHANCE, label="chance", **plots.REFERENCE)
            row[0].set_title(f"{letter}  {palette.label(first)} and {palette.label(other)}")
            row[1].set_title(f"{letter}  (end)")


def _claims() -> list[Claim]:
    elu, srelu, relu, lrelu = map(Arm, ("elu", "shifted_relu", "relu", "leaky_relu"))

    def bn(arm: Arm) -> Arm:
        return arm._replace(batch_norm=True)

    def test(low: Arm, high: Arm, limit: float = 0.0) -> ClaimTest:
        names = [arm.activation + "-bn" * arm.batch_norm for arm in (low, high)]
        name = f"cifar100-{'-below-'.join(names)}"
        return fig4.difference_test(name, low, high, limit=limit)

    return [
        Claim(
            "cifar100-elu-beats-relu-with-bn",
            "abstract, 4.2",
            "ELU networks significantly outperform ReLU networks with batch "
            "normalization (p < 0.001).",
            "p < 0.001",
            (
                test(elu, bn(relu)),
                fig4.wilcoxon_test("cifar100-elu-below-relu-bn-p-below-.001", elu, bn(relu)),
            ),
        ),
        Claim(
            "cifar100-bn-does-not-improve-elu",
            "abstract, 4.2",
            "Batch normalization improved ReLU and LReLU networks, but did not improve "
            "ELU and SReLU networks.",
            "a figure",
            (
                test(bn(relu), relu),
                test(bn(lrelu), lrelu),
                test(elu, bn(elu), _RELEVANT),
                test(srelu, bn(srelu), _RELEVANT),
            ),
        ),
    ]


EXPERIMENT = Experiment(
    title="Figure 5: with and without batch normalisation",
    section="4.2",
    data="CIFAR-100",
    draw=_draw,
    summary=lambda frame: tables.ends(frame, fig4.COMPARED),
    trials=trials,
    measure=fig4.measure,
    columns=fig4.COLUMNS,
    reads=("fig4",),
    claims=tuple(_claims()),
    classes=100,
    paper_epochs=fig4.PAPER_EPOCHS,
    note=(
        "The paper does not say where the normalisation is. Here each activation has normalised "
        "inputs, and the logits are not normalised. Ribbons are one standard deviation over runs. "
        "`Did not improve` is supported if normalisation lowers the test error by significantly "
        f"less than {_RELEVANT} percentage points, the standard deviation of ELU's error over the "
        "paper's runs. A difference that is only not significant decides nothing."
    ),
)
