"""Figure 6: fifteen layers on ImageNet, ELU and ReLU."""

from pathlib import Path

import numpy as np
import pandas as pd

from elu_zoo import files
from elu_zoo.data import load
from elu_zoo.pairs import curves, plots, tables
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim
from elu_zoo.paper.experiment import Experiment

_MEASURES = {
    "train_loss": "training loss",
    "validation_top5_error_percent": "top-5 error",
    "validation_error_percent": "top-1 error",
}
_STAND_IN = 300  # CIFAR-100 images of a smoke test if ImageNet is missing


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed."""
    changes: list[tuple] = []
    folder = plan.imagenet or (str(_stand_in(plan)) if plan.smoke else None)
    if folder:
        changes.append(("data.folder", folder))
    if plan.budget == "short":
        changes.append(("train.epochs", 1))
    return [
        Trial("elu_imagenet_15", "", plan.budget, activation, seed, changes=tuple(changes))
        for seed in plan.runs(1, 1, 1)
        for activation in ("elu", "relu")
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns the loss and the errors of the validation images after each epoch."""
    return curves.epochs(workdir)


def _stand_in(plan: Plan) -> Path:
    """Writes CIFAR-100 images as PNG files, and returns their folder."""
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


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    with plots.figure(stem, [len(_MEASURES)], 2.8) as [row]:
        for axes, letter, (column, title) in zip(row, "abc", _MEASURES.items(), strict=True):
            plots.curves(axes, frame, "step", column)
            unit = "nats" if column == "train_loss" else "%"
            axes.set(title=f"{letter}  {title}", xlabel="iteration", ylabel=unit)


_CLAIM = Claim(
    "imagenet-faster",
    "abstract, 4.4",
    "On ImageNet, ELU networks considerably speed up learning compared to a ReLU "
    "network with the same architecture, obtaining less than 10 % classification error "
    "for a single crop, single model network.",
    "20 % top-5 error after 160k iterations, with ReLU after 200k; then below 10 %",
    (),
)

EXPERIMENT = Experiment(
    title="Figure 6: ImageNet",
    section="4.4",
    data="ImageNet",
    draw=_draw,
    summary=lambda frame: tables.ends(frame, _MEASURES),
    trials=trials,
    measure=measure,
    columns=("step", "epoch", *_MEASURES),
    claims=(_CLAIM,),
    paper_epochs=80,
    schedule_of="our config",
    note=(
        "The paper does not give batch size, learning rate, number of iterations or the first "
        "layer's stride; the config's card has our choices. A smoke run without --imagenet "
        f"reads {_STAND_IN} images of CIFAR-100, and its errors mean nothing for ImageNet."
    ),
)
