"""Figure 4: eleven convolutional layers on CIFAR-100 with four activations."""

import itertools
import math
from pathlib import Path
from string import ascii_lowercase

import pandas as pd

from elu_zoo import results
from elu_zoo.pairs import curves, grouping, palette, plots, tables
from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, Read, difference, equals, wilcoxon
from elu_zoo.paper.experiment import Experiment
from elu_zoo.training.record import observers

ACTIVATIONS = "elu", "relu", "leaky_relu", "shifted_relu"
ERROR, LOSS = "test_error_percent", "last_epoch_loss"
COLUMNS = "step", "train_loss", LOSS, "test_loss", ERROR
COMPARED = {ERROR: "test error %", LOSS: "training loss, last epoch"}
_START_EPOCHS = 10  # of the paper's schedule, in which the learning rate is constant
START = f"first {_START_EPOCHS} epochs"  # variant of the runs in the short budget
PAPER_EPOCHS = 330
_EQUIVALENT = 0.5  # points, about twice the deviation of the paper's runs with ELU
CHANCE = 99.0  # test error in percent of a network that guesses among 100 classes
_PANELS = {
    "train_loss": ("training loss", "nats", math.log(100)),
    ERROR: ("test error", "%", CHANCE),
}  # title, unit, value at chance


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed."""
    return [trial(plan, name, seed) for seed in plan.runs(1, 5, 10) for name in ACTIVATIONS]


def trial(plan: Plan, activation: str, seed: int, batch_norm: bool = False) -> Trial:
    """Returns one run of the paper's schedule, or of its first epochs."""
    return Trial(
        "elu_cifar_11",
        plan.of("", f"epochs={_START_EPOCHS}", ""),
        plan.budget,
        activation,
        seed,
        batch_norm=batch_norm,
        variant=plan.of("", START, ""),
        observers=(observers.Losses(), observers.Measures(plan.of(4, 500, 1000))),
    )


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns losses and test errors along the run.

    The last row has the final test error and the mean training loss of the last epoch.
    """
    rows = curves.iterations(workdir, plan.of(2, 50, 1000))
    rows[-1] |= curves.final(workdir)
    rows[-1][LOSS] = curves.epochs(workdir)[-1]["train_loss"]
    return rows


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    last = frame["step"].max()
    parts = {"": frame}
    if not frame["variant"].any():
        parts["start"] = frame[frame["step"] <= 0.4 * last]
        parts["end"] = frame[frame["step"] >= 0.6 * last]
    panels = list(itertools.product(_PANELS.items(), parts.items()))
    layout = [len(parts)] * len(_PANELS) if len(parts) > 1 else [len(_PANELS)]
    with plots.figure(stem, layout, 2.4 * len(layout) + 0.4) as grid:
        every = zip(itertools.chain(*grid), ascii_lowercase, panels, strict=False)
        for axes, letter, ((column, (title, unit, chance)), (part, own)) in every:
            plots.curves(axes, own, "step", column)
            if part != "end":
                axes.axhline(chance, label="chance", **plots.REFERENCE)
            name = f"{title} ({part})" if part else title
            axes.set(title=f"{letter}  {name}", xlabel="iteration", ylabel=unit)


def difference_test(
    name: str, low: Arm, high: Arm, column: str = ERROR, limit: float = 0.0
) -> ClaimTest:
    """Returns the test that a difference of errors or losses is below a limit."""
    find = difference(_final_of_learned(low, column), _final_of_learned(high, column))
    return ClaimTest(name, _measure(low, high, column), find, limit)


def wilcoxon_test(name: str, low: Arm, high: Arm, column: str = ERROR) -> ClaimTest:
    """Returns the test that the paper reports, p < 0.001."""
    find = wilcoxon(_final_of_learned(low, column), _final_of_learned(high, column))
    measure = f"{_measure(low, high, column)}; Wilcoxon's p < 0.001, of ten pairs"
    return ClaimTest(name, measure, find)


def _measure(low: Arm, high: Arm, column: str) -> str:
    names = [palette.label(arm.activation, arm.batch_norm) for arm in (low, high)]
    title = "test error" if column == ERROR else "training loss of the last epoch"
    return f"{title}, {' - '.join(names)}; runs that are better than chance"


def _final_of_learned(arm: Arm, column: str) -> Read:
    """Returns a reader of the final values of runs that are better than chance."""

    def read(frame: pd.DataFrame) -> dict[int, float]:
        errors = grouping.final_values(frame, arm, ERROR)
        values = grouping.final_values(frame, arm, column)
        return {s: x for s, x in values.items() if results.beats_chance(errors.get(s, 100.0), 100)}

    return read


def _claims() -> list[Claim]:
    tests, elu = [], Arm("elu")
    for other in map(Arm, ACTIVATIONS[1:]):
        for column, title in ((ERROR, "test-error"), (LOSS, "training-loss")):
            name = f"cifar100-{title}"
            tests += [
                difference_test(f"{name}-below-{other.activation}", elu, other, column),
                wilcoxon_test(f"{name}-p-below-.001-{other.activation}", elu, other, column),
            ]
    errors = [
        ClaimTest(
            f"cifar100-{row['activation']}-equals-{row[ERROR]}",
            f"{palette.label(row['activation'])}'s test error - {row[ERROR]} %; "
            "runs that are better than chance",
            equals(
                _final_of_learned(Arm(row["activation"]), ERROR),
                *(float(row[column]) for column in (ERROR, "standard_deviation")),
                runs=int(row["runs"]),
            ),
            _EQUIVALENT,
            within=True,
        )
        for row in results.read("paper.csv")
        if row["model"] == "elu_cifar_11"
    ]
    errors += [
        difference_test(f"cifar100-{low}-below-{high}", Arm(low), Arm(high))
        for low, high in (("shifted_relu", "leaky_relu"), ("leaky_relu", "relu"))
    ]
    return [
        Claim(
            "cifar100-errors",
            "4.2",
            "ELUs yield on average a test error of 28.75 %, while SReLUs, ReLUs and "
            "LReLUs yield 29.35 %, 31.56 % and 30.59 %.",
            "28.75, 29.35, 31.56, 30.59 %",
            tuple(errors),
        ),
        Claim(
            "cifar100-elu-best",
            "4.2",
            "Both the ELU training and test performance is significantly better than "
            "for other activation functions (p < 0.001).",
            "p < 0.001",
            tuple(tests),
        ),
        Claim(
            "cifar100-another-schedule",
            "4.2",
            "As ELUs converge faster they would benefit from an adjusted schedule.",
            "an expectation",
            (),
        ),
    ]


EXPERIMENT = Experiment(
    title="Figure 4: four activations on CIFAR-100",
    section="4.2",
    data="CIFAR-100",
    draw=_draw,
    summary=lambda frame: tables.ends(frame, COMPARED),
    trials=trials,
    measure=measure,
    columns=COLUMNS,
    claims=tuple(_claims()),
    classes=100,
    paper_epochs=PAPER_EPOCHS,
    note=(
        "The paper says nothing about the padding of a stack's 2 x 2 convolutions or about the "
        "batch of its 165,000 iterations, and little about initial kernels. Dropout is here after "
        "the pooling, in its text before. The config's card has our choices. The short budget "
        f"has the first {_START_EPOCHS} of the paper's 330 epochs, which decide no claim about "
        "its end. A run at chance is drawn, but in no test. Ribbons are one standard deviation."
    ),
)
