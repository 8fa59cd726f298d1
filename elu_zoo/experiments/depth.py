"""MNIST networks of 2 to 12 hidden layers: the abstract's "more than 5 layers"."""

import json
from pathlib import Path

from elu_zoo.experiments import curves
from elu_zoo.experiments.trial import Plan, Trial

COLUMNS = (
    "hidden_layers train_loss validation_error_percent test_loss test_error_percent "
    "epochs_to_loss diverged"
).split()
LAYERS = 2, 4, 6, 8, 12
_LOSS = 0.1  # reached by every net; how fast is the speed of learning


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, those of one seed and depth one after the other."""
    epochs = plan.of(2, 20, 40)
    return [
        Trial(
            "mnist_depth",
            f"hidden_layers={layers}",
            plan.budget,
            activation,
            seed,
            variant=f"{layers:02} layers",
            changes=(("train.epochs", epochs),),
        )
        for seed in plan.runs(1, 5, 5)
        for layers in (plan.of(LAYERS[::2], LAYERS, LAYERS))
        for activation in plan.arms("elu", "relu", "leaky_relu")
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns one row: what the last epoch has, and how soon the loss was low."""
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    soon = next((row["epoch"] for row in rows if row["train_loss"] <= _LOSS), "")
    layers = trial.load().model.hidden_layers
    return [
        {
            **rows[-1],
            **curves.final(workdir),
            "hidden_layers": layers,
            "epochs_to_loss": soon,
        }
    ]
