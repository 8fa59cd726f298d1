"""Norms of gradients by layer at the start of training, for the vanishing gradient."""

from pathlib import Path

import numpy as np
import pandas as pd

from elu_zoo.data import load
from elu_zoo.pairs import grouping, plots
from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, Read, Values, difference
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.figures import bias_shift
from elu_zoo.paper.theory.bias_shift import deltas
from elu_zoo.training.record import observers

_EPOCHS = 0, 1, 5
_SHOWN = {0: "initial weights", 5: "epoch 5"}
_IMAGES = 1000


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed."""
    epochs = plan.of(_EPOCHS[:2], _EPOCHS, _EPOCHS)
    return [
        Trial(
            "mnist_mlp_8x128",
            "",
            plan.budget,
            activation,
            seed,
            changes=(("train.epochs", epochs[-1]),),
            observers=(observers.Snapshots(epochs),),
        )
        for seed in plan.runs(1, 5, 5)
        for activation in ("elu", "relu", "tanh", "sigmoid")
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns root mean squares, over images, of the norm of d loss / d net by layer."""
    split = load.load("mnist", plan.data_dir).train.first(plan.of(500, _IMAGES, _IMAGES))
    rows = []
    for epoch, model, hidden in bias_shift.networks(workdir):
        for number, name in enumerate(hidden, 1):
            delta = deltas(model, model.get_layer(name), split.images, split.labels)
            norm = float(np.sqrt((delta**2).sum(axis=1).mean()))
            rows.append({"epoch": epoch, "hidden_layer": number, "gradient_norm": norm})
    return rows


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    with plots.figure(stem, [2], 3.4) as [row]:
        for axes, (epoch, title) in zip(row, _SHOWN.items(), strict=True):
            axes.set(yscale="log", title=title, xlabel="hidden layer", ylabel="gradient norm")
            plots.curves(axes, frame[frame["epoch"] == epoch], "hidden_layer", "gradient_norm")


def _log_ratio(activation: str, epoch: int) -> Read:
    """Returns a reader of log10(norm in the first / norm in the last hidden layer)."""

    def read(frame: pd.DataFrame) -> Values:
        own = grouping.of_arm(frame, Arm(activation))
        norms = own[own["epoch"] == epoch].groupby("seed")["gradient_norm"]
        return np.log10(norms.first() / norms.last()).to_dict()

    return read


_CLAIM = Claim(
    "vanishing-gradient",
    "abstract, 3",
    "Like ReLUs, LReLUs and PReLUs, ELUs alleviate the vanishing gradient problem via the "
    "identity for positive values [against sigmoid; tanh, without an identity, does not vanish].",
    "an argument",
    tuple(
        ClaimTest(
            f"gradient-of-first-layer-sigmoid-{epoch}",
            f"log10 of the gradient's norm in the first / in the last hidden layer, {title}, "
            "ELU - sigmoid",
            difference(_log_ratio("elu", epoch), _log_ratio("sigmoid", epoch)),
            larger=True,
        )
        for epoch, title in _SHOWN.items()
    ),
)

EXPERIMENT = Experiment(
    title="Gradient norms by layer",
    section="abstract, 3",
    data="MNIST",
    draw=_draw,
    trials=trials,
    measure=measure,
    columns=("epoch", "hidden_layer", "gradient_norm"),
    claims=(_CLAIM,),
    note=(
        "The paper has no experiment on this, and so no length of training to reach. The "
        "networks are those of figure 2, with initial weights and after few epochs. All "
        "have He's initial kernels, which are made for ReLU. The gradient is that of an "
        "image's loss with respect to a layer's net inputs, which is propagated back; that "
        "of a kernel also depends on the size of the layer's inputs, which in the first "
        f"layer are pixels. Norms are root mean squares over {_IMAGES:,} training images. "
        "Tests compare the first hidden layer with the last, so that the size of the loss "
        "cancels. The gradient of tanh does not vanish with these kernels: it decides nothing."
    ),
)
