"""Figure 2: activations and losses of an MNIST network of eight hidden layers."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from elu_zoo.pairs import curves, grouping, palette, plots, tables
from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import (
    Claim,
    ClaimTest,
    Effect,
    Find,
    Read,
    Values,
    compared,
    difference,
    final,
    mean_value,
)
from elu_zoo.paper.experiment import Experiment
from elu_zoo.training.record import observers

# The experiment `theory` reads the weights after these epochs.
SNAPSHOTS = 0, 1, 2, 5, 10, 25, 50, 100, 200, 300
PAPER = "elu", "relu", "leaky_relu"
OURS = "shifted_relu", "prelu"  # activations that the paper's figure lacks
_FEW_SEEDS = 5  # of our activations
_IMAGES = 1000  # recording their activations takes 3 to 4 % of a run's time
_FLAT_FROM = 25  # epoch: "All lines stay flat after epoch 25."
_FLAT = 0.1  # largest change after epoch 25, as a fraction
_LOSS_AT_CHANCE = math.log(10)
# By what a change after this epoch is divided, a function of the loss in this epoch.
_WHOLES = {
    "by-fall": ("the change from chance until epoch 25", lambda loss: _LOSS_AT_CHANCE - loss),
    "by-loss": ("the loss in epoch 25", lambda loss: loss),
}
_EARLY = 5  # epoch
_ENDS = {
    "train_loss": "training loss",
    "median_activation": "median activation",
    "test_error_percent": "test error %",
}
_FITTED = 0.1, 0.01, 0.001  # training losses in nats, early and late in training
# Shares of a run's epochs. Within each, the epochs with medians are equally spaced.
_WINDOWS = {"first sixth": (0, 1 / 6), "next third": (1 / 6, 1 / 2), "last half": (1 / 2, 1)}


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed."""
    # 20 pairs find a difference of 1.2 epochs to a loss of 0.01 with a probability of 0.8.
    epochs = plan.of(2, 50, 300)
    snapshots = (*(epoch for epoch in SNAPSHOTS if epoch < epochs), epochs)
    return [
        Trial(
            "mnist_mlp_8x128",
            "",
            plan.budget,
            activation,
            seed,
            changes=(("train.epochs", epochs),),
            observers=(observers.Activations(_IMAGES), observers.Snapshots(snapshots)),
        )
        for seed in plan.runs(2, 5, 20)
        for activation in (*PAPER, *(OURS if seed < _FEW_SEEDS else ()))
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns losses by epoch, and the median over units of their mean activation."""
    statistics = observers.read_activations(workdir)
    medians = {
        epoch: float(np.median(np.concatenate(list(units.mean.values()))))
        for epoch, units in statistics.items()
    }
    rows = [{"epoch": 0}, *curves.epochs(workdir)]
    return [{**row, "median_activation": medians[row["epoch"]]} for row in rows]


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    early = frame[frame["epoch"] <= _FLAT_FROM]
    titles = "a  median of the units' mean activations", "b  cross-entropy loss"
    with plots.figure(stem, [2, 2], 5.6) as [medians, losses]:
        for axes, shown in zip(medians, (frame, early), strict=True):
            plots.curves(axes, shown, "epoch", "median_activation")
        for axes, shown in zip(losses, (frame, early), strict=True):
            axes.set(yscale="log", ylabel="nats")
            plots.curves(axes, shown, "epoch", "train_loss")
            plots.curves(axes, shown, "epoch", "validation_loss", dotted=True)
        losses[0].plot([], [], ":", color="#555555", label="validation")
        for (whole, start), title in zip((medians, losses), titles, strict=True):
            whole.set(title=title, xlabel="epoch")
            start.set(title=f"{title[0]}  first {_FLAT_FROM} epochs", xlabel="epoch")


def _claims() -> list[Claim]:
    return [
        Claim(
            "mnist-faster-learning",
            "abstract, 4.1.1",
            "The training error of ELU networks decreases much more rapidly than for "
            "the other networks.",
            "a figure",
            tuple(test for other in PAPER[1:] for test in _tests_of_speed(other)),
        ),
        Claim(
            "mnist-means-closer-to-zero",
            "abstract, 4.1.1",
            "ELUs push mean unit activations closer to zero.",
            "a figure",
            tuple(
                ClaimTest(
                    f"mnist-activations-closer-to-zero-than-{other}-{window.replace(' ', '-')}",
                    f"size of the median activation, mean over the {window} of the epochs, "
                    f"ELU - {palette.label(other)}",
                    difference(_mean_size("elu", *ends), _mean_size(other, *ends)),
                )
                for other in PAPER[1:]
                for window, ends in _WINDOWS.items()
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
                    "in the stored epoch that supports it least (largest one-sided p)",
                    _worst_epoch("elu", other),
                )
                for other in PAPER[1:]
            ),
        ),
        _flat("training"),
        _flat("validation"),
    ]


def _flat(split: str) -> Claim:
    """Returns the claim about a split's losses, from those in epoch 25 and at the end."""

    def read(activation: str, whole: Callable[[float], float]) -> Read:
        arm, column = Arm(activation), f"{split.removesuffix('ing')}_loss"

        def read_changes(frame: pd.DataFrame) -> Values:
            flat = _loss_at(_FLAT_FROM, activation, column)(frame)
            last = final(arm, column)(frame)
            seeds = flat.keys() & last.keys()
            return {seed: abs((last[seed] - flat[seed]) / whole(flat[seed])) for seed in seeds}

        return read_changes

    return Claim(
        f"mnist-{split}-flat-after-25",
        "4.1.1, figure 2",
        f"All lines stay flat after epoch 25 [{split} loss].",
        "a figure",
        tuple(
            ClaimTest(
                f"mnist-{split}-flat-after-25-{activation}-{name}",
                f"change of {palette.label(activation)}'s {split} loss after epoch 25, divided by "
                f"{measure}",
                mean_value(read(activation, whole)),
                _FLAT,
            )
            for name, (measure, whole) in _WHOLES.items()
            for activation in PAPER
        ),
    )


def _tests_of_speed(other: str) -> list[ClaimTest]:
    label = palette.label(other)
    early = ClaimTest(
        f"mnist-learns-faster-than-{other}",
        f"training loss in epoch {_EARLY}, ELU - {label}",
        difference(_loss_at(_EARLY, "elu"), _loss_at(_EARLY, other)),
    )
    crossings = [
        ClaimTest(
            f"mnist-fits-to-{loss}-sooner-than-{other}",
            f"epochs until the training loss is {loss}, ELU - {label}",
            difference(_epochs_to(loss, "elu"), _epochs_to(loss, other)),
        )
        for loss in _FITTED
    ]
    return [early, *crossings]


def _loss_at(epoch: int, activation: str, column: str = "train_loss") -> Read:
    read = final(Arm(activation), column)
    return lambda frame: read(frame[frame["epoch"] == epoch])


def _epochs_to(loss: float, activation: str) -> Read:
    """Returns a reader of the number of epochs until a training loss is reached."""

    def read(frame: pd.DataFrame) -> Values:
        measured = grouping.of_arm(frame, Arm(activation)).dropna(subset="train_loss")
        return {
            seed: _crossing(list(zip(run["epoch"], run["train_loss"], strict=True)), loss)
            for seed, run in measured.groupby("seed")
        }

    return read


def _crossing(curve: list[tuple[float, float]], loss: float) -> float:
    """Returns the epoch at which a curve first reaches a loss.

    Between two epochs the logarithm of the loss is interpolated. If the curve never
    reaches the loss, its last epoch is returned.
    """
    for i, (epoch, reached) in enumerate(curve):
        if reached > loss:
            continue
        if not i:
            return epoch
        before, higher = curve[i - 1]
        share = math.log(higher / loss) / math.log(higher / reached)
        return before + share * (epoch - before)
    return curve[-1][0]


def _sizes(frame: pd.DataFrame, activation: str) -> pd.DataFrame:
    """Returns |median activation| of trained networks, by seed and (columns) epoch."""
    own = grouping.of_arm(frame, Arm(activation))
    trained = own[own["epoch"] > 0]
    return trained.pivot(index="seed", columns="epoch", values="median_activation").abs()


def _mean_size(activation: str, start: float, end: float) -> Read:
    def read(frame: pd.DataFrame) -> Values:
        sizes = _sizes(frame, activation)
        share = sizes.columns / sizes.columns.max()
        return sizes.loc[:, (share > start) & (share <= end)].mean(axis=1).to_dict()

    return read


def _worst_epoch(first: str, second: str) -> Find:
    """Returns the test of the difference in the epoch with the largest one-sided p."""

    def find(frame: pd.DataFrame, test: ClaimTest) -> Effect:
        own, others = (_sizes(frame, name) for name in (first, second))
        epochs = own.columns.intersection(others.columns)
        effects = [compared(own[e].to_dict(), others[e].to_dict(), test) for e in epochs]
        one_sided = [x.p / 2 if x.effect < 0 else 1 - x.p / 2 for x in effects]
        worst = effects[int(np.argmax(np.nan_to_num(one_sided)))] if effects else Effect()
        # That every epoch agrees needs no correction; that one of them does not, needs it.
        p = min(worst.p * len(effects), 1.0) if worst.effect > 0 else worst.p
        return worst._replace(p=p)

    return find


def _summary(frame: pd.DataFrame) -> str:
    losses = frame.pivot_table(
        index="seed", columns=["activation", "epoch"], values="train_loss", observed=True
    )
    lines = [tables.ends(frame, _ENDS)]
    for other in PAPER[1:]:
        if {"elu", other} <= set(losses.columns.levels[0]):
            lower = (losses["elu"] - losses[other]).dropna(how="all") < 0
            until = [max(run.index[run], default=0) for _, run in lower.iterrows()] or [0]
            lines.append(
                f"ELU's training loss is last below that of {palette.label(other)} in epoch "
                f"{min(until)} to {max(until)}, by seed."
            )
    return "\n\n".join(lines)


EXPERIMENT = Experiment(
    title="Figure 2: activations and losses of an MNIST network",
    section="4.1.1",
    data="MNIST",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=(
        *("epoch", "train_loss", "validation_loss", "validation_error_percent"),
        *("median_activation", "test_loss", "test_error_percent"),
    ),
    claims=tuple(_claims()),
    paper_epochs=300,
    note=(
        "The paper says neither how pixels are scaled nor which images the average activations are "
        f"of. Here pixels are divided by 255, and activations are of the first {_IMAGES:,} "
        "training images. The paper's figure has ELU, ReLU and leaky ReLU; shifted ReLU and PReLU "
        "are ours. Ribbons are one standard deviation over runs. Closeness to zero is that of the "
        "paper's median of the units' means, in which signs cancel. The tests of `theory` have "
        "the length of the vector of mean activations too. `All lines` are tested in panel b."
    ),
)
