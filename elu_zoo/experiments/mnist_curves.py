"""Figure 2: eight hidden layers of 128 units on MNIST, their activations and losses."""

from pathlib import Path

from elu_zoo.experiments import curves
from elu_zoo.experiments.trial import Plan, Trial
from elu_zoo.training.observing import Observe

COLUMNS = (
    "epoch train_loss validation_loss validation_error_percent median_activation "
    "test_loss test_error_percent diverged"
).split()
# Of theory.py, which follows the bias shift along training.
SNAPSHOTS = 0, 1, 2, 5, 10, 25, 50, 100, 200, 300
_IMAGES = 5000  # on which activations are followed


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, those of one seed one after the other."""
    epochs = plan.of(2, 50, 300)
    return [
        Trial(
            "mnist_mlp_8x128",
            "",
            plan.budget,
            activation,
            seed,
            changes=(("train.epochs", epochs),),
            observe=Observe(activation_images=_IMAGES, snapshots=SNAPSHOTS),
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
