"""Figure 7: how much units' median activations change from epoch to epoch."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from elu_zoo.pairs import curves, grouping, plots, tables
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, ReadLayers, Values, difference_in_layers
from elu_zoo.paper.experiment import Experiment
from elu_zoo.training.record import observers

CHANGES, MEDIANS = "variance_of_changes", "variance_of_medians"
# Title, x label, and decimal logarithms of the ends of the x axis.
_COLUMNS = {
    CHANGES: ("a  changes", "variance of the median's changes, by unit", (-6, -2)),
    MEDIANS: ("b  medians", "variance of the median, by unit", (-5, 0)),
}


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed."""
    epochs = plan.of(3, 50, 200)
    # -1 means the whole training set, as in the paper.
    activations = observers.Activations(2000 if plan.smoke else -1)
    return [
        Trial(
            "mnist_mlp_5x256",
            "",
            plan.budget,
            activation,
            seed,
            changes=(("train.epochs", epochs),),
            observers=(activations,),
        )
        for seed in plan.runs(1, 5, 5)
        for activation in ("elu", "relu")
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns a row for each layer, with the variances of the layer's units."""
    epochs = observers.read_activations(workdir)
    epochs.pop(0)  # the initial weights
    final = curves.final(workdir)
    rows = []
    for layer in epochs[1].median:
        medians = np.array([statistics.median[layer] for statistics in epochs.values()], float)
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


_NO_UNITS = pd.Series(index=pd.MultiIndex.from_tuples([], names=["seed", "layer"]), dtype=object)


def _variances(frame: pd.DataFrame, column: str) -> dict[str, pd.Series]:
    """Returns the variances of a layer's units by seed and layer, for each activation."""
    return {
        name: own.set_index(["seed", "layer"])[column].map(lambda x: np.array(x.split(), float))
        for name, own in frame.groupby("activation", observed=True)
    }


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    layers = frame["layer"].unique()
    with plots.figure(stem, [len(_COLUMNS)] * len(layers), 1.1 * len(layers) + 0.9) as grid:
        for j, (column, (title, xlabel, decades)) in enumerate(_COLUMNS.items()):
            variances = _variances(frame, column)
            for i, (layer, row) in enumerate(zip(layers, grid, strict=True)):
                of_layer = {
                    name: np.concatenate([*own.xs(layer, level="layer")])
                    for name, own in variances.items()
                }
                row[j].sharey(grid[0][0])
                plots.histogram(row[j], of_layer, decades)
                row[j].set_title(f"{title}, " * (i == 0) + f"hidden layer {i + 1}")
            grid[-1][j].set_xlabel(xlabel)
        grid[0][0].figure.supylabel("number of units")


def _claims() -> list[Claim]:
    tests = [
        ClaimTest(
            f"mnist-{short}-vary-less-than-relu-{name}",
            f"log10 of the variance of {of}, {whose}, ELU - ReLU, mean of layers",
            difference_in_layers(*(_log_variances(x, average, column) for x in ("elu", "relu"))),
        )
        for column, short, of in (
            (CHANGES, "changes-of-medians", "the changes of a unit's median from epoch to epoch"),
            (MEDIANS, "medians", "a unit's median"),
        )
        for name, whose, average in (
            ("median", "median of a layer's units that vary", _median),
            ("mean", "mean of a layer's units that vary", lambda x: x[x > 0].mean()),
            ("mean-of-all", "mean of all of a layer's units", np.mean),
        )
    ]
    return [
        Claim(
            "mnist-medians-vary-more-in-relu",
            "4.1.1, appendix C",
            "The median varies much more in ReLU networks.",
            "a figure",
            tuple(tests),
        )
    ]


def _median(variances: np.ndarray) -> float:
    return np.median(variances[variances > 0])


def _log_variances(
    activation: str, average: Callable[[np.ndarray], float], column: str
) -> ReadLayers:
    """Returns a reader of log10 of the average variance of units, by layer."""

    def read(frame: pd.DataFrame) -> dict[str, Values]:
        units = _variances(frame, column).get(activation, _NO_UNITS)
        logs = units.map(lambda x: np.log10(average(x)) if x.any() else np.nan)
        by_layer = logs.unstack("layer")
        return {layer: values.dropna().to_dict() for layer, values in by_layer.items()}

    return read


def _summary(frame: pd.DataFrame) -> str:
    """Returns ratios of median variances by layer."""
    ratios = {}
    for column in _COLUMNS:
        elu, relu = (_log_variances(name, _median, column)(frame) for name in ("elu", "relu"))
        for layer in elu.keys() & relu.keys():
            ours, theirs = grouping.pairs(elu[layer], relu[layer])
            ratios[layer, column] = f"{10 ** np.mean(np.subtract(theirs, ours)):.2f}"
    layers = frame["layer"].unique()
    lines = [[layer, *(ratios.get((layer, column), "") for column in _COLUMNS)] for layer in layers]
    titles = "variance of changes, ReLU / ELU", "variance of medians, ReLU / ELU"
    units = {name: np.concatenate([*own]) for name, own in _variances(frame, CHANGES).items()}
    text = ", ".join(f"{np.mean(values == 0):.0%} with {name}" for name, values in units.items())
    table = tables.markdown(["layer", *titles], lines)
    return f"{table}\n\nUnits whose median never changes: {text}."


EXPERIMENT = Experiment(
    title="Figure 7: how much medians of activations change",
    section="appendix C",
    data="MNIST",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=("layer", CHANGES, MEDIANS, "test_error_percent"),
    claims=tuple(_claims()),
    paper_epochs=200,
    note=(
        'The paper\'s text has the "variance of these changes": panel a shows the variance, over'
        " epochs, of the difference between a unit's median activation after an epoch and after"
        " the epoch before, over the whole training set. The paper's caption has \"variances of "
        'the median hidden unit activation after each epoch", which panel b shows. The claim has '
        "tests of both. The table has medians over a layer's units that vary. "
        "The axis of panel b begins and ends higher because medians"
        " move further than in one epoch. Markers are medians over the units of all runs; the "
        "bar at 0 has the units whose median never changed."
    ),
)
