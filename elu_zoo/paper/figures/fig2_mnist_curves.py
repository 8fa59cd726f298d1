"""Figure 2: eight hidden layers of 128 units on MNIST, their activations and losses."""

from collections.abc import Mapping
from pathlib import Path

from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.plots import figures
from elu_zoo.paper.plots.panels import Panel, zoom
from elu_zoo.paper.run import curves
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.training.recorder import Observe

# Of theory.py, which follows the bias shift along training.
SNAPSHOTS = 0, 1, 2, 5, 10, 25, 50, 100, 200, 300
_IMAGES = 1000  # on which activations are followed: 3 to 4 % of the time of a run
_START, _FLAT = 10, 25  # epochs; "all lines stay flat after epoch 25"


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, those of one seed one after the other."""
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
        for activation in plan.arms(
            "elu", "relu", "leaky_relu", "shifted_relu", "prelu"
        )
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns losses by epoch, and the median over units of their mean activation."""
    rows = curves.epochs(workdir)
    followed = curves.activations(workdir)
    medians = {epoch: found.median_of_means() for epoch, found in followed.items()}
    start = {"epoch": 0, "median_activation": medians[0]}
    return [
        start,
        *({**row, "median_activation": medians[row["epoch"]]} for row in rows),
    ]


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    own = rows["fig2"]
    last = max(int(row["epoch"]) for row in own)
    medians = grouping.series(own, "epoch", "median_activation")
    losses = grouping.series(own, "epoch", "train_loss")
    losses += grouping.series(own, "epoch", "validation_loss", dotted=True)
    activation = Panel(
        "a  median over units of mean activation", "epoch", "activation", medians
    )
    loss = Panel(
        "b  cross entropy: training, validation", "epoch", "loss", losses, logy=True
    )
    start = min(_FLAT, last)
    figures.draw(
        [
            [activation, zoom(activation, 0, start, "a  (start)")],
            [loss, zoom(loss, 1, max(start, 2), "b  (start)")],
        ],
        stem,
        height=5.6,
    )


def _summary(rows: Mapping[str, Rows]) -> str:
    own, lines = rows["fig2"], []
    early = [r for r in own if r["epoch"] in ("", str(_START))]
    flat = [r for r in own if r["epoch"] in ("", str(_FLAT))]
    for arm in grouping.arms(own):
        found = [
            list(grouping.finals(of, arm, name).values())
            for of, name in (
                (early, "train_loss"),
                (own, "train_loss"),
                (flat, "median_activation"),
                (own, "median_activation"),
                (own, "test_error_percent"),
            )
        ]
        lines.append([arm[0], len(found[-1]), *map(grouping.spread, found)])
    titles = (
        "activation",
        "runs",
        f"training loss, epoch {_START}",
        "training loss, end",
        f"median activation, epoch {_FLAT}",
        "median activation, end",
        "test error %",
    )
    return grouping.markdown(titles, lines)


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
    note=(
        "The paper does not say how pixels are scaled, nor on which images activations "
        "are averaged: here pixels are divided by 255, and it is the first "
        f"{_IMAGES:,} training images. Shifted ReLU and PReLU are ours: the paper's "
        "figure has ELU, ReLU and leaky ReLU."
    ),
)
