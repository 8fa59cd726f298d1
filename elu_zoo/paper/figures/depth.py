"""MNIST networks of 2 to 12 hidden layers: the abstract's "more than 5 layers"."""

import json
from collections.abc import Mapping
from pathlib import Path

from elu_zoo.paper import grouping, statistics
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.plots import figures
from elu_zoo.paper.plots.dots import DotPanel, Dots
from elu_zoo.paper.run import curves
from elu_zoo.paper.run.spec import Plan, Trial

LAYERS = 2, 4, 6, 8, 12
_LOSS = 0.1  # how fast it is reached is the speed of learning


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


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    own = rows["depth"]
    panels = [
        DotPanel(
            "a  test error", "hidden layers", "%", _dots(own, "test_error_percent")
        ),
        DotPanel(
            f"b  epochs until the training loss is {_LOSS}",
            "hidden layers",
            "epochs",
            _dots(own, "epochs_to_loss"),
        ),
    ]
    figures.bars([p for p in panels if p.dots], stem, height=3.6)


def _dots(rows: Rows, name: str) -> list[Dots]:
    """Returns each activation's means and standard deviations over depth."""
    found: dict[str, list[tuple]] = {}
    for arm in grouping.arms(rows):
        values = list(grouping.finals(rows, arm, name).values())
        # A mean over those that got there would hide the others.
        if len(values) == len(grouping.of_arm(rows, arm)):
            spread = statistics.spread(values)
            low, high = (spread.mean + d * spread.deviation for d in (-1, 1))
            layers = int(arm[2].split()[0])
            found.setdefault(arm[0], []).append((layers, spread.mean, low, high))
    return [Dots(name, *zip(*points, strict=True)) for name, points in found.items()]


def _summary(rows: Mapping[str, Rows]) -> str:
    own = rows["depth"]
    names = list(dict.fromkeys(arm[0] for arm in grouping.arms(own)))
    titles = ["hidden layers", "runs"]
    titles += [f"test error %, {name}" for name in names]
    titles += [f"epochs to {_LOSS}, {name}" for name in names]
    lines = []
    for variant in sorted({row["variant"] for row in own}):
        cells, runs = [], set()
        for measure_ in ("test_error_percent", "epochs_to_loss"):
            for name in names:
                values = grouping.finals(own, (name, False, variant), measure_)
                cells.append(grouping.spread(list(values.values())))
                runs.add(str(len(values)))
        lines.append([int(variant.split()[0]), " / ".join(sorted(runs)), *cells])
    return grouping.markdown(titles, lines)


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
    note=(
        "The paper claims it of networks with more than five layers, and compares no "
        "depths. Layers have 128 units, as in figure 2. Panel b has no point where a "
        f"run never reached a training loss of {_LOSS}."
    ),
)
