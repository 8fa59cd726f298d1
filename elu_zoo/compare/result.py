"""Results of a comparison: its runs, chosen learning rates and costs."""

import collections
import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from ml_collections import ConfigDict

from elu_zoo import errors, files, results
from elu_zoo.compare import images
from elu_zoo.compare.config import TUNING_SEED, ComparisonConfig
from elu_zoo.compare.estimate import Cost
from elu_zoo.compare.tuning import Choice
from elu_zoo.evaluation.loss import LOSSES
from elu_zoo.pairs import curves
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.training.result import find


@dataclasses.dataclass(frozen=True)
class RunResult:
    """Results of a run, or the reason why the run did not train.

    Attributes:
        error: percentage of wrong classes, or an autoencoder's squared error, on the
            compared images (validation images for a tuning run); NaN if diverged.
        train_loss: mean over the last epoch; NaN if diverged.
        curve: a row for each epoch, with `epoch`, `train_loss` and, if validation
            images were measured, `validation_...`.
        diverged: why the run did not train: it diverged or, of paired runs, stayed at
            chance; "" if it trained.
        made: backend, hardware, commit and versions.
        of_images: the error of each image, for a paired run that trained.
    """

    error: float = float("nan")
    train_loss: float = float("nan")
    curve: tuple[dict[str, float], ...] = ()
    diverged: str = ""
    made: str = ""
    of_images: np.ndarray | None = dataclasses.field(default=None, repr=False, compare=False)


Runs = Mapping[Trial, RunResult]


@dataclasses.dataclass(frozen=True)
class ComparisonResult:
    """Everything that a comparison measured; `choices` and `costs` are by activation."""

    comparison: ComparisonConfig
    runs: Runs
    choices: Mapping[str, Choice]
    costs: Mapping[str, Cost]

    def paired(self, activation: str, *, tuned: bool) -> dict[int, RunResult]:
        """Returns the results of paired runs by seed, at the best rate if `tuned`."""
        factor = self.choices[activation].factor if tuned else 1.0
        return {
            trial.seed: measured
            for trial, measured in self.runs.items()
            if (trial.activation, trial.factor) == (activation, factor) and not is_tuning(trial)
        }


def tried(runs: Runs, activation: str) -> dict[float, list[float]]:
    """Returns the validation errors of an activation's tuning runs, by factor."""
    found = collections.defaultdict(list)
    for trial, measured in runs.items():
        if trial.activation == activation and is_tuning(trial):
            found[trial.factor].append(measured.error)
    return dict(found)


def is_tuning(trial: Trial) -> bool:
    """Whether a run only helps to choose the learning rate."""
    return trial.seed >= TUNING_SEED


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[RunResult]:
    """Returns a list with the results of a finished run as its only item."""
    entry, measured = find(workdir), metric(trial.base)
    if trial.images and entry["images"] != trial.images:
        raise errors.UsageError(
            f"The images were changed before the run {workdir}. Delete this folder, and run the "
            "command again."
        )
    split = "test" if trial.base.data.measure_test else "validation"
    error = entry["metrics"][f"{split}_{measured}"]
    versions = ", ".join(f"{name} {version}" for name, version in entry["versions"].items())
    made = f"{entry['backend']} on {entry['hardware']} (commit {entry['commit']}, {versions})"
    # The choice of a rate needs the error of a tuning run, even if it is chance.
    classes = len(entry["classes"])
    if not is_tuning(trial) and not results.beats_chance(error, classes):
        reason = f"The error is that of guessing among {classes} classes: {error:.4g} %."
        return [RunResult(diverged=reason, made=made)]
    values = error, results.train_loss(workdir, entry), tuple(curves.epochs(workdir)), "", made
    if is_tuning(trial):
        return [RunResult(*values)]
    return [RunResult(*values, images.errors(trial, workdir, plan, split, measured))]


def finished(trial: Trial, plan: Plan) -> RunResult | None:
    """Returns the results of a run that has ended or diverged, otherwise None."""
    workdir = trial.folder(plan)
    diverged = workdir / "diverged.json"
    if diverged.exists():
        return RunResult(diverged=files.read_json(diverged)["reason"])
    return measure(trial, workdir, plan)[0] if find(workdir) else None


def metric(config: ConfigDict) -> str:
    """Returns the name of the compared measure; lower is better."""
    return "squared_error" if LOSSES[config.train.loss].of_images else "error_percent"
