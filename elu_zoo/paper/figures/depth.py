"""MNIST networks of 2 to 12 hidden layers, for the abstract's claim on depth."""

from pathlib import Path

import pandas as pd

from elu_zoo import files
from elu_zoo.pairs import curves, grouping, palette, plots, tables
from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, difference, final
from elu_zoo.paper.experiment import Experiment

LAYERS = 2, 4, 6, 8, 12
_DEEP = 6, 8, 12  # "networks with more than 5 layers"
_LOSS = 0.1  # training loss in nats; the epochs until this loss measure the speed
_MEASURES = {
    "test_error_percent": "MNIST test error, %",
    "epochs_to_loss": f"epochs until the training loss is {_LOSS}",
}


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed and depth."""
    # 20 pairs find a difference of 0.19 points of the test error with a probability of
    # 0.8; its standard deviation is 0.22 points. Five pairs would need 0.6 points.
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


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    ends = grouping.ends(frame, _MEASURES)
    depths = {variant: int(variant.split()[0]) for variant in ends.index.unique("variant")}
    with plots.figure(stem, [2], 3.6) as [row]:
        for axes, letter, column in zip(row, "ab", _MEASURES, strict=True):
            every = ends.groupby(level=[*grouping.ARM], observed=True)[column]
            # A depth at which a run has no value has no dot.
            reached = ends[column][every.transform("count") == every.transform("size")]
            dots = grouping.spread(reached, "variant")
            plots.dots(axes, dots.assign(depth=dots["variant"].map(depths)), "depth")
            axes.set(title=f"{letter}  {_MEASURES[column]}", xlabel="hidden layers")


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
    data="MNIST",
    draw=_draw,
    summary=lambda frame: tables.ends(frame, _MEASURES),
    trials=trials,
    measure=measure,
    columns=(
        *("hidden_layers", "train_loss", "validation_error_percent", "test_loss"),
        *("test_error_percent", "epochs_to_loss"),
    ),
    claims=(_CLAIM,),
    paper_epochs=300,
    schedule_of="figure 2",
    note=(
        "The paper claims better generalisation for networks with more than five "
        "layers, and has no experiment over depth. Layers have 128 units, and the "
        "optimizer and the learning rate are those of figure 2. Error bars are "
        "one standard deviation over runs. Panel b has no point for a depth at which a "
        f"run never reached a training loss of {_LOSS}; the table's mean is of the others."
    ),
)
