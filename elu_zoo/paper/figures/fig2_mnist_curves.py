"""Figure 2: activations and losses of an MNIST network of eight hidden layers."""

import math
from pathlib import Path

import numpy as np

from elu_zoo.paper import grouping, tables
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.grouping import Arm, Rows
from elu_zoo.paper.judging import (
    Claim,
    ClaimTest,
    Finding,
    Judge,
    Read,
    Values,
    below,
    final,
    lower,
)
from elu_zoo.paper.plots import figures, palette
from elu_zoo.paper.plots.panels import Panel, zoom
from elu_zoo.paper.run import curves
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.paper.verdicts import LEAST_PAIRS
from elu_zoo.training.recorder import Observe

# The experiments `noise` and `theory` read these weights.
SNAPSHOTS = 0, 1, 2, 5, 10, 25, 50, 100, 200, 300
_IMAGES = 1000  # activations of these are recorded, in 3 to 4 % of a run's time
_EPOCH_OF_TABLE = 10
_FLAT_FROM = 25  # "all lines stay flat after epoch 25"
_FLAT = 0.1  # largest change after that epoch, relative to the change from chance
_LOSS_AT_CHANCE = math.log(10)
_EARLY = "5"  # epoch
_FITTED = 0.1, 0.01, 0.001  # training losses; curves cross between them
_MEDIANS_UNTIL = 50  # rows have every epoch until then
_PAPER = "elu", "relu", "leaky_relu"
_OURS = "shifted_relu", "prelu"  # not in the paper's figure


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed."""
    epochs = plan.of(2, 50, 300)
    kept = (*(epoch for epoch in SNAPSHOTS if epoch < epochs), epochs)
    return [
        Trial(
            "mnist_mlp_8x128",
            "",
            plan.budget,
            activation,
            seed,
            changes=(("train.epochs", epochs),),
            observe=Observe(activation_images=_IMAGES, snapshots=kept),
        )
        for seed in plan.runs(2, 5, 5)
        for activation in plan.arms(*_PAPER, *_OURS)
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns losses by epoch, and the median over units of their mean activation."""
    statistics = curves.activations(workdir)
    medians = {epoch: found.median_of_means() for epoch, found in statistics.items()}
    rows = [{"epoch": 0}, *curves.epochs(workdir)]
    return [{**row, "median_activation": medians[row["epoch"]]} for row in rows]


def _draw(rows: Rows, stem: Path) -> None:
    last = max(int(row["epoch"]) for row in rows)
    medians = grouping.series(rows, "epoch", "median_activation")
    losses = grouping.series(rows, "epoch", "train_loss")
    losses += grouping.series(rows, "epoch", "validation_loss", dotted=True)
    activation = Panel(
        "a  median over units of mean activation", "epoch", "activation", medians
    )
    loss = Panel(
        "b  cross entropy: training, validation", "epoch", "loss", losses, logy=True
    )
    start = min(_FLAT_FROM, last)
    panels = [
        [activation, zoom(activation, 0, start, "a  (start)")],
        [loss, zoom(loss, 1, max(start, 2), "b  (start)")],
    ]
    figures.draw(panels, stem, height=5.6)


def _summary(rows: Rows) -> str:
    def at(epoch: int) -> Rows:
        return [row for row in rows if row["epoch"] == str(epoch)]

    columns = {
        f"training loss, epoch {_EPOCH_OF_TABLE}": (at(_EPOCH_OF_TABLE), "train_loss"),
        "training loss, end": (rows, "train_loss"),
        f"median activation, epoch {_FLAT_FROM}": (at(_FLAT_FROM), "median_activation"),
        "median activation, end": (rows, "median_activation"),
        "test error %": (rows, "test_error_percent"),
    }
    lines = []
    for arm in grouping.arms(rows):
        found = [
            grouping.final_values(of, arm, column) for of, column in columns.values()
        ]
        cells = [tables.mean(values.values()) for values in found]
        lines.append([arm.activation, len(found[-1]), *cells])
    return tables.markdown(("activation", "runs", *columns), lines)


def _claims() -> list[Claim]:
    others = "relu", "leaky_relu", *_OURS
    return [
        Claim(
            "mnist-faster-learning",
            "abstract, 4.1.1",
            "The training error of ELU networks decreases much more rapidly than for "
            "the other networks.",
            "a figure",
            tuple(test for other in others for test in _tests_of_speed(other)),
        ),
        Claim(
            "mnist-means-closer-to-zero",
            "abstract, 4.1.1",
            "ELUs push mean unit activations closer to zero.",
            "a figure",
            tuple(
                ClaimTest(
                    f"mnist-activations-closer-to-zero-than-{other}",
                    "size of the median activation, mean over the first 50 epochs, "
                    f"ELU - {palette.label(other)}",
                    lower(_mean_size("elu"), _mean_size(other)),
                    other in _OURS,
                )
                for other in others
            ),
        ),
        Claim(
            "mnist-smaller-median-throughout",
            "4.1.1",
            "ELUs have smaller median throughout the training process.",
            "a figure",
            tuple(
                ClaimTest(
                    f"mnist-activations-smaller-throughout-than-{other}",
                    f"size of the median activation, ELU - {palette.label(other)}, "
                    "means over runs, the largest difference of all epochs",
                    _smaller_throughout("elu", other),
                )
                for other in _PAPER[1:]
            ),
        ),
        Claim(
            "mnist-flat-after-25",
            "4.1.1, figure 2",
            "All lines stay flat after epoch 25.",
            "a figure",
            tuple(
                ClaimTest(
                    f"mnist-{name}-flat-after-25-{activation}",
                    f"change of {palette.label(activation)}'s {name} loss after epoch "
                    "25, relative to the change from chance until then, less 0.1",
                    below(_FLAT, _change_after_25(activation, f"{column}_loss")),
                )
                for column, name in (("train", "training"), ("validation",) * 2)
                for activation in _PAPER
            ),
        ),
    ]


def _tests_of_speed(other: str) -> list[ClaimTest]:
    label, ours = palette.label(other), other in _OURS
    faster = ClaimTest(
        f"mnist-learns-faster-than-{other}",
        f"training loss in epoch {_EARLY}, ELU - {label}",
        lower(_loss_at(_EARLY, "elu"), _loss_at(_EARLY, other)),
        ours,
    )
    sooner = [
        ClaimTest(
            f"mnist-fits-to-{loss}-sooner-than-{other}",
            f"epochs until the training loss is {loss}, ELU - {label}",
            lower(_epochs_to(loss, "elu"), _epochs_to(loss, other)),
            ours,
        )
        for loss in _FITTED
    ]
    return [faster, *sooner]


def _loss_at(epoch: str, activation: str, column: str = "train_loss") -> Read:
    read = final(Arm(activation), column)
    return lambda rows: read([row for row in rows if row["epoch"] == epoch])


def _epochs_to(loss: float, activation: str) -> Read:
    """Returns a reader of the first epoch with this loss, or else the last epoch."""

    def read(rows: Rows) -> Values:
        found = {}
        for seed, run in grouping.by_seed(rows, Arm(activation)).items():
            reached = [
                row
                for row in run
                if row["train_loss"] and float(row["train_loss"]) <= loss
            ]
            found[seed] = float((reached or run[-1:])[0]["epoch"])
        return found

    return read


def _sizes(rows: Rows, activation: str) -> dict[int, dict[int, float]]:
    """Returns |median activation| of trained networks by seed and epoch."""
    return {
        seed: {
            int(row["epoch"]): abs(float(row["median_activation"]))
            for row in run
            if row["epoch"] != "0"
        }
        for seed, run in grouping.by_seed(rows, Arm(activation)).items()
    }


def _mean_size(activation: str) -> Read:
    def read(rows: Rows) -> Values:
        found = {}
        for seed, sizes in _sizes(rows, activation).items():
            early = [size for epoch, size in sizes.items() if epoch <= _MEDIANS_UNTIL]
            found[seed] = float(np.mean(early))
        return found

    return read


def _smaller_throughout(first: str, second: str) -> Judge:
    """Returns the test that the mean line of one activation is always lower."""

    def mean_line(rows: Rows, activation: str) -> dict[int, float]:
        runs = list(_sizes(rows, activation).values())
        return {e: float(np.mean([run[e] for run in runs])) for e in runs[0]}

    def judge(rows: Rows) -> Finding:
        n = min(len(_sizes(rows, activation)) for activation in (first, second))
        if not n:
            return Finding()
        one, other = mean_line(rows, first), mean_line(rows, second)
        largest = max(one[epoch] - other[epoch] for epoch in one)
        if n < LEAST_PAIRS:
            return Finding(n, largest)
        return Finding(n, largest, outcome="supports" if largest < 0 else "contradicts")

    return judge


def _change_after_25(activation: str, column: str) -> Read:
    """Returns a reader of the change after epoch 25, relative to that from chance."""

    def read(rows: Rows) -> Values:
        flat = _loss_at(str(_FLAT_FROM), activation, column)(rows)
        last = final(Arm(activation), column)(rows)
        seeds = flat.keys() & last.keys()
        return {
            s: abs((last[s] - flat[s]) / (flat[s] - _LOSS_AT_CHANCE)) for s in seeds
        }

    return read


EXPERIMENT = Experiment(
    title="Figure 2: activations and losses of an MNIST network",
    section="4.1.1",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=(
        *("epoch", "train_loss", "validation_loss", "validation_error_percent"),
        *("median_activation", "test_loss", "test_error_percent"),
    ),
    compares={
        "train_loss": "training loss, end",
        "test_error_percent": "test error %",
    },
    claims=tuple(_claims()),
    paper_epochs=300,
    note=(
        "The paper does not say how pixels are scaled, nor on which images activations "
        "are averaged: here pixels are divided by 255, and activations are of the "
        f"first {_IMAGES:,} training images. Shifted ReLU and PReLU are ours: the "
        "paper's figure has ELU, ReLU and leaky ReLU."
    ),
)
