"""MNIST networks of 2 to 12 hidden layers, for the abstract's claim on depth."""

import itertools
from pathlib import Path

from elu_zoo import files
from elu_zoo.pairs import curves, grouping, tables
from elu_zoo.pairs.grouping import Arm, Rows
from elu_zoo.pairs.plots import figures, palette
from elu_zoo.pairs.plots.dots import DotPanel, Dots
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, difference, final
from elu_zoo.paper.experiment import Experiment

LAYERS = 2, 4, 6, 8, 12
_DEEP = 6, 8, 12  # "networks with more than 5 layers"
_LOSS = 0.1  # training loss in nats; the epochs until this loss measure the speed
_MEASURES = {
    "test_error_percent": "test error %",
    "epochs_to_loss": f"epochs to {_LOSS}",
}


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed and depth.

    The full budget has 20 seeds. Among the first five seeds, the differences of test
    errors at 6, 8 and 12 layers have standard deviations of 0.09 to 0.31 percentage
    points, with a median of 0.22. Student's test of 20 such pairs, at Holm's first
    level for six tests (0.05 / 6), finds a difference of 0.86 standard deviations, or
    0.19 points, with a probability of 0.8. Five pairs would need 0.6 points.
    """
    epochs = plan.of(2, 20, 40)
    return [
        Trial(
            "mnist_depth",
            f"hidden_layers={layers}",
            plan.budget,
            activation,
            seed,
            variant=_variant(layers),
            changes=(("train.epochs", epochs),),
        )
        for seed in plan.runs(1, 5, 20)
        for layers in plan.of(LAYERS[::2], LAYERS, LAYERS)
        for activation in ("elu", "relu", "leaky_relu")
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns one row: measures at the end, and the first epoch with a low loss."""
    rows = files.read_rows(workdir / "metrics.jsonl")
    reached = next((row["epoch"] for row in rows if row["train_loss"] <= _LOSS), "")
    layers = trial.load().model.hidden_layers
    end = {**rows[-1], **curves.final(workdir)}
    return [{**end, "hidden_layers": layers, "epochs_to_loss": reached}]


def _variant(layers: int) -> str:
    return f"{layers:02} layers"


def _layers(variant: str) -> int:
    return int(variant.split()[0])


def _draw(rows: Rows, stem: Path) -> None:
    panels = [
        DotPanel("a  MNIST test error", "hidden layers", "%", _dots(rows, "test_error_percent")),
        DotPanel(
            f"b  epochs until the training loss is {_LOSS}",
            "hidden layers",
            "epochs",
            _dots(rows, "epochs_to_loss"),
        ),
    ]
    figures.bars([panel for panel in panels if panel.dots], stem, height=3.6)


def _dots(rows: Rows, column: str) -> list[Dots]:
    """Returns means over runs by depth, without depths at which a run has no value."""
    by_name: dict[str, dict[float, list[float]]] = {}
    for arm in grouping.arms(rows):
        values = list(grouping.final_values(rows, arm, column).values())
        if len(values) == len(grouping.by_seed(rows, arm)):
            by_name.setdefault(arm.activation, {})[_layers(arm.variant)] = values
    return [grouping.dots(name, by_depth) for name, by_depth in by_name.items()]


def _summary(rows: Rows) -> str:
    names = list(dict.fromkeys(arm.activation for arm in grouping.arms(rows)))
    columns = list(itertools.product(_MEASURES, names))
    lines = []
    for variant in sorted({row["variant"] for row in rows}):
        values_of_columns = [
            grouping.final_values(rows, Arm(name, variant=variant), column)
            for column, name in columns
        ]
        runs = sorted({str(len(values)) for values in values_of_columns})
        cells = [tables.mean(values.values()) for values in values_of_columns]
        lines.append([_layers(variant), " / ".join(runs), *cells])
    titles = [f"{_MEASURES[column]}, {name}" for column, name in columns]
    return tables.markdown(["hidden layers", "runs", *titles], lines)


def _test(other: str, layers: int) -> ClaimTest:
    variant = _variant(layers)
    elu, second = Arm("elu", variant=variant), Arm(other, variant=variant)
    return ClaimTest(
        f"depth-{layers}-generalises-better-than-{other}",
        f"test error, {layers} hidden layers (MNIST), ELU - {palette.label(other)}",
        difference(final(elu, "test_error_percent"), final(second, "test_error_percent")),
    )


_CLAIM = Claim(
    "depth-generalisation",
    "abstract",
    "ELUs lead to significantly better generalization performance than ReLUs and "
    "LReLUs on networks with more than 5 layers.",
    "no number",
    tuple(_test(other, layers) for other in ("relu", "leaky_relu") for layers in _DEEP),
)

EXPERIMENT = Experiment(
    title="Depth: MNIST networks of 2 to 12 hidden layers",
    section="abstract",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=(
        *("hidden_layers", "train_loss", "validation_error_percent", "test_loss"),
        *("test_error_percent", "epochs_to_loss"),
    ),
    compares={"test_error_percent": "test error %"},
    claims=(_CLAIM,),
    paper_epochs=300,
    schedule_of="figure 2",
    note=(
        "The paper claims better generalisation for networks with more than five "
        "layers, and has no experiment over depth. Layers have 128 units, and the "
        "optimizer and the learning rate are those of figure 2. Error bars, "
        "beside their markers, are one standard deviation over runs. Panel b has no "
        "point for a depth at which a run "
        f"never reached a training loss of {_LOSS}."
    ),
)
