"""Figure 7: how much units' median activations change from epoch to epoch."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.plots import figures
from elu_zoo.paper.run import curves
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.training.recorder import Observe

CHANGES, MEDIANS = "variance_of_changes", "variance_of_medians"


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
                CHANGES: _text(np.diff(medians, axis=0).var(axis=0)),
                MEDIANS: _text(medians.var(axis=0)),
                "test_error_percent": final["test_error_percent"],
            }
        )
    return rows


def _text(values: np.ndarray) -> str:
    return " ".join(f"{value:.3g}" for value in values)


def variances(
    rows: Rows, arm: grouping.Arm, column: str = CHANGES
) -> dict[int, dict[str, np.ndarray]]:
    """Returns by seed and layer a variance of each unit, `(units,)`."""
    return {
        seed: {row["layer"]: np.array(row[column].split(), float) for row in own}
        for seed, own in grouping.of_arm(rows, arm).items()
    }


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    own = rows["fig7"]
    layers = list(dict.fromkeys(row["layer"] for row in own))
    values = {}
    for arm in grouping.arms(own):
        runs = variances(own, arm).values()
        values[arm[0]] = [np.concatenate([run[x] for run in runs]) for x in layers]
    figures.distributions(
        values,
        stem,
        xlabel="variance of a unit's changes of median activation, epoch to epoch",
        rows=[f"hidden layer {i + 1}" for i in range(len(layers))],
    )


def _summary(rows: Mapping[str, Rows]) -> str:
    own, lines = rows["fig7"], []
    layers = list(dict.fromkeys(row["layer"] for row in own))
    for column, title in ((CHANGES, "changes"), (MEDIANS, "medians")):
        for arm in grouping.arms(own):
            runs = list(variances(own, arm, column).values())
            medians = [[float(np.median(run[x])) for run in runs] for x in layers]
            zeros = np.mean([run[x] == 0 for run in runs for x in layers])
            cells = map(grouping.spread, medians)
            lines.append([title, arm[0], len(runs), *cells, f"{zeros:.0%}"])
    titles = "variance of", "activation", "runs", *layers, "units with none"
    return grouping.markdown(titles, lines)


EXPERIMENT = Experiment(
    title="Figure 7: how much medians of activations change",
    section="appendix C",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=("layer", CHANGES, MEDIANS, "test_error_percent"),
    note=(
        'The paper\'s text has the "variance of these changes": read here, and drawn, '
        "as the variance, over epochs, of the difference between a unit's median "
        "activation after an epoch and after the one before, over the whole training "
        'set. Its caption has "variances of the median hidden unit activation after '
        'each epoch", which are those of the medians themselves. Both are in the table '
        "and among the claims, and need not agree. The table has the median over a "
        "layer's units, and the share of all units whose median never changed."
    ),
)
