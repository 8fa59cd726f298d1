"""Figure 7: how much units' median activations change from epoch to epoch."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from elu_zoo.pairs import curves, grouping, tables
from elu_zoo.pairs.grouping import Arm, Rows
from elu_zoo.pairs.plots import figures
from elu_zoo.pairs.plots.histograms import Histograms
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import (
    Claim,
    ClaimTest,
    Read,
    ReadLayers,
    Values,
    difference,
    difference_in_layers,
)
from elu_zoo.paper.experiment import Experiment
from elu_zoo.training.record.recorder import Observe

CHANGES, MEDIANS = "variance_of_changes", "variance_of_medians"
# Title, x label, and decimal logarithms of the ends of the x axis.
_COLUMNS = {
    CHANGES: ("a  changes", "variance of the median's changes, by unit", (-6, -2)),
    MEDIANS: ("b  medians", "variance of the median, by unit", (-5, 0)),
}
_SMALLEST = 1e-12  # is added before a logarithm: the variance of a dead unit is 0


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed."""
    epochs = plan.of(3, 50, 200)
    # -1 means the whole training set, as in the paper.
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
        for activation in ("elu", "relu")
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns a row for each layer, with the variances of the layer's units."""
    epochs = curves.activations(workdir)
    epochs.pop(0)  # the initial weights
    final = curves.final(workdir)
    rows = []
    for layer in epochs[1].names:
        medians = np.array([statistics.median[layer] for statistics in epochs.values()])
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


def _by_seed(rows: Rows, arm: Arm, column: str) -> dict[int, dict[str, np.ndarray]]:
    """Returns the variances of a layer's units, `(units,)`, by seed and layer."""
    return {
        seed: {row["layer"]: np.array(row[column].split(), float) for row in run}
        for seed, run in grouping.by_seed(rows, arm).items()
    }


def _layers(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["layer"] for row in rows))


def _draw(rows: Rows, stem: Path) -> None:
    figures.distributions(
        [
            Histograms(title, xlabel, _units(rows, column), decades)
            for column, (title, xlabel, decades) in _COLUMNS.items()
        ],
        stem,
    )


def _units(rows: Rows, column: str) -> dict[str, list[np.ndarray]]:
    """Returns the variances of the units of all runs, by activation and layer."""
    units = {}
    for arm in grouping.arms(rows):
        runs = _by_seed(rows, arm, column).values()
        units[arm.activation] = [
            np.concatenate([run[layer] for run in runs]) for layer in _layers(rows)
        ]
    return units


def _summary(rows: Rows) -> str:
    layers, lines = _layers(rows), []
    for column, title in ((CHANGES, "changes"), (MEDIANS, "medians")):
        for arm in grouping.arms(rows):
            runs = list(_by_seed(rows, arm, column).values())
            medians = [[float(np.median(run[x])) for run in runs] for x in layers]
            zeros = np.mean([run[x] == 0 for run in runs for x in layers])
            cells = map(tables.mean, medians)
            lines.append([title, arm.activation, len(runs), *cells, f"{zeros:.0%}"])
    titles = "variance of", "activation", "runs", *layers, "units that never change"
    return tables.markdown(titles, lines)


def _claims() -> list[Claim]:
    columns = (
        (CHANGES, "changes from epoch to epoch", ""),
        (MEDIANS, "median after each epoch", "-themselves"),
    )
    averages = ("median", np.median), ("mean", np.mean)
    tests = [
        ClaimTest(
            f"mnist-medians{suffix}-vary-less-than-relu-{name}",
            f"log10 of the variance of a unit's {text}, {name} of a layer's units, "
            "ELU - ReLU, mean of layers",
            difference_in_layers(
                _log_variances("elu", column, average), _log_variances("relu", column, average)
            ),
        )
        for (column, text, suffix), (name, average) in itertools.product(columns, averages)
    ]
    never = ClaimTest(
        "mnist-share-of-units-that-never-change",
        "share of units whose median never changes, ELU - ReLU",
        difference(_share_without_change("elu"), _share_without_change("relu")),
        larger=True,
        in_paper=False,
    )
    return [
        Claim(
            "mnist-medians-vary-more-in-relu",
            "4.1.1, appendix C",
            "The median varies much more in ReLU networks.",
            "a figure",
            (*tests, never),
        )
    ]


def _log_variances(
    activation: str, column: str, average: Callable[[np.ndarray], float]
) -> ReadLayers:
    """Returns a reader of log10 of the units' average variance, by layer."""

    def read(rows: Rows) -> dict[str, Values]:
        logs: dict[str, dict[int, float]] = {}
        for seed, layers in _by_seed(rows, Arm(activation), column).items():
            for layer, units in layers.items():
                log = float(np.log10(average(units) + _SMALLEST))
                logs.setdefault(layer, {})[seed] = log
        return logs

    return read


def _share_without_change(activation: str) -> Read:
    """Returns a reader of the fraction of units whose median never changes."""

    def read(rows: Rows) -> Values:
        runs = _by_seed(rows, Arm(activation), CHANGES)
        return {
            seed: float(np.mean(np.concatenate(list(layers.values())) == 0))
            for seed, layers in runs.items()
        }

    return read


EXPERIMENT = Experiment(
    title="Figure 7: how much medians of activations change",
    section="appendix C",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=("layer", CHANGES, MEDIANS, "test_error_percent"),
    claims=tuple(_claims()),
    paper_epochs=200,
    note=(
        'The paper\'s text has the "variance of these changes". Panel a shows the '
        "variance, over epochs, of the difference between a unit's median activation "
        "after an epoch and after the epoch before, over the whole training set. The "
        "paper's caption has \"variances of the median hidden unit activation after "
        'each epoch", which panel b shows. Both are in the table and among the tests '
        "of the claim, and may disagree. The axis of panel b begins and ends higher "
        "because medians move further than in one epoch. Markers are medians over the "
        "units of all runs; the bar at 0 has the units whose median never changed."
    ),
)
