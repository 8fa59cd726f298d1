"""Figure 6: fifteen layers on ImageNet, ELU and ReLU."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from elu_zoo import files
from elu_zoo.data import load
from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.plots import figures
from elu_zoo.paper.plots.panels import Panel
from elu_zoo.paper.run import curves
from elu_zoo.paper.run.spec import Plan, Trial

_PANELS = (
    ("train_loss", "training loss", "loss"),
    ("validation_top5_error_percent", "top-5 error", "%"),
    ("validation_error_percent", "top-1 error", "%"),
)
_STAND_IN = 300  # images


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, those of one seed one after the other."""
    changes = []
    folder = plan.imagenet
    if plan.smoke and not folder:
        folder = str(_stand_in(plan))
    if folder:
        changes.append(("data.folder", folder))
    if plan.budget == "short":
        changes.append(("train.epochs", 1))
    return [
        Trial(
            "elu_imagenet_15",
            "",
            plan.budget,
            activation,
            seed,
            changes=tuple(changes),
        )
        for seed in plan.runs(1, 1, 1)
        for activation in plan.arms("elu", "relu")
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns the loss and the errors of the validation images after each epoch."""
    return curves.epochs(workdir)


def _stand_in(plan: Plan) -> Path:
    """Writes images of CIFAR-100 as PNG files: the way is tested without ImageNet."""
    import keras

    folder = plan.workdir / "cifar100_as_files"
    if folder.is_dir():
        return folder
    data = load.load("cifar100", plan.data_dir).test.first(_STAND_IN)
    with files.new_directory(folder) as new:
        for i, (image, label) in enumerate(zip(data.images, data.labels, strict=True)):
            path = new / f"{label:03}" / f"{i}.png"
            path.parent.mkdir(exist_ok=True)
            keras.utils.save_img(path, np.asarray(image), scale=False)
    return folder


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    own = rows["fig6"]
    panels = []
    for letter, (name, title, unit) in zip("abc", _PANELS, strict=True):
        found = grouping.series(own, "step", name)
        if found:
            panels.append(Panel(f"{letter}  {title}", "iteration", unit, found))
    figures.draw([panels], stem)


def _summary(rows: Mapping[str, Rows]) -> str:
    own = rows["fig6"]
    lines = [
        [arm[0], *(_last(own, arm, name) for name, _, _ in _PANELS)]
        for arm in grouping.arms(own)
    ]
    titles = ("activation", *(title for _, title, _ in _PANELS))
    return grouping.markdown(titles, lines)


def _last(rows: Rows, arm: grouping.Arm, name: str) -> str:
    return grouping.spread(list(grouping.finals(rows, arm, name).values()))


EXPERIMENT = Experiment(
    title="Figure 6: ImageNet",
    section="4.4",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=("step", "epoch", *(name for name, _, _ in _PANELS)),
    note=(
        "The paper does not give batch, learning rate, number of iterations or the "
        "first layer's stride: see the config's card. A smoke run without --imagenet "
        f"takes {_STAND_IN} images of CIFAR-100 as files: it tests the way and says "
        "nothing about ImageNet."
    ),
)
