"""Figure 7: how much units' median activations change from epoch to epoch."""

from pathlib import Path

import numpy as np

from elu_zoo.experiments import curves
from elu_zoo.experiments.trial import Plan, Trial
from elu_zoo.training.observing import Observe

COLUMNS = "layer variance_of_changes variance_of_medians test_error_percent".split()


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, those of one seed one after the other."""
    epochs = plan.of(3, 50, 200)
    # Of the whole training set, as the paper says.
    observe = Observe(activation_images=2000 if plan.smoke else -1)
    return [
        Trial(
            "mnist_mlp_5x256",
            "",
            plan.budget,
            activation,
            seed,
            changes=(("train.epochs", epochs),),
            observe=observe,
        )
        for seed in plan.runs(1, 5, 5)
        for activation in plan.arms("elu", "relu")
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns a row for each layer, in which each unit has its variances."""
    followed = curves.activations(workdir)
    followed.pop(0)  # the paper's are after each epoch
    final = curves.final(workdir)
    rows = []
    for layer in followed[1].names:
        medians = np.array([found.median[layer] for found in followed.values()])
        medians = medians.astype(np.float64)
        rows.append(
            {
                "layer": layer.removeprefix("act_"),
                "variance_of_changes": _text(np.diff(medians, axis=0).var(axis=0)),
                "variance_of_medians": _text(medians.var(axis=0)),
                "test_error_percent": final["test_error_percent"],
            }
        )
    return rows


def _text(values: np.ndarray) -> str:
    return " ".join(f"{value:.3g}" for value in values)
