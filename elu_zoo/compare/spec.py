"""Spec of one run of a comparison: its config, folder and measured results."""

import dataclasses
import hashlib
from pathlib import Path

from ml_collections import ConfigDict

from elu_zoo import files, registry, results, user_module
from elu_zoo.activations import table
from elu_zoo.compare import changes
from elu_zoo.compare.question import TUNING_SEED, Question
from elu_zoo.evaluation.loss import LOSSES
from elu_zoo.pairs import curves
from elu_zoo.pairs.spec import Plan
from elu_zoo.training import result
from elu_zoo.training.config import config_hash


@dataclasses.dataclass(frozen=True)
class Measured:
    """Results of a run, or the reason why the run did not train.

    Attributes:
        error: percentage of wrong classes, or an autoencoder's squared error, on the
            compared images (validation images for a tuning run); NaN if diverged.
        train_loss: mean over the last epoch; NaN if diverged.
        curve: a row for each epoch, with `epoch`, `train_loss` and, if validation
            images were measured, `validation_...`.
        diverged: why the run did not train: it diverged or, of paired runs, stayed at
            chance; "" if it trained.
    """

    error: float = float("nan")
    train_loss: float = float("nan")
    curve: tuple[dict[str, float], ...] = ()
    diverged: str = ""


@dataclasses.dataclass(frozen=True)
class Spec:
    """Spec of one run, which `pairs.runner` trains.

    Attributes:
        question: question of the comparison.
        activation: name of the activation.
        factor: factor on the config's learning rates.
        seed: see `changes.of_run`.
        code: hash of a user's file, see `code_hash`.
    """

    question: Question = dataclasses.field(repr=False, compare=False)
    activation: str
    factor: float
    seed: int
    code: str = ""

    observers = ()

    @property
    def tuning(self) -> bool:
        """Whether this is a tuning run, by which the learning rate is chosen."""
        return self.seed >= TUNING_SEED

    def load(self) -> ConfigDict:
        """Returns the config of the run."""
        arguments = self.question.config, self.activation, self.seed, self.factor
        return changes.of_run(*arguments, tuning=self.tuning)

    @property
    def command(self) -> str:
        """The command line that trains the run."""
        question = self.question
        return changes.command(question.train_command, question.config, self.load())

    def folder(self, plan: Plan) -> Path:
        """Returns the folder; its name depends on config, `code` and own images."""
        text = config_hash(self.load()) + self.code + self.question.images
        digits = hashlib.sha256(text.encode()).hexdigest()[:8]
        name = f"{self.activation}-s{self.seed}-x{self.factor:g}-{digits}"
        return plan.workdir / name

    @property
    def label(self) -> str:
        """The run's name in messages."""
        return f"{self.activation}, seed {self.seed}, rate x {self.factor:g}"


def measure(spec: Spec, workdir: Path, _: Plan) -> list[Measured]:
    """Returns a list with the results of a finished run as its only item."""
    entry = result.find(workdir)
    split = "validation" if spec.tuning else spec.question.split
    name = metric(spec.question.config)
    rows = curves.epochs(workdir)
    for row in rows:
        row.pop("step")
    error, classes = entry["metrics"][f"{split}_{name}"], len(entry["classes"])
    # The choice of a rate needs the error of a tuning run, even if it is chance.
    if not spec.tuning and not results.is_trained(error, classes):
        reason = f"The error is that of guessing among {classes} classes: {error:.4g} %."
        return [Measured(diverged=reason)]
    return [Measured(error, results.train_loss(workdir, entry), tuple(rows))]


def finished(spec: Spec, plan: Plan) -> Measured | None:
    """Returns the results of a run that has ended or diverged, otherwise None."""
    workdir = spec.folder(plan)
    diverged = workdir / "diverged.json"
    if diverged.exists():
        return Measured(diverged=files.read_json(diverged)["reason"])
    return measure(spec, workdir, plan)[0] if result.find(workdir) else None


def metric(config: ConfigDict) -> str:
    """Returns the name of the compared measure; lower is better."""
    autoencoder = LOSSES[config.train.loss].of_images
    return "squared_error" if autoencoder else "error_percent"


def code_hash(question: Question, activation: str) -> str:
    """Returns a hash of the file of --module if a run depends on it, else "".

    A run depends on it if the network or the activation is not this package's. A user
    changes the file between two commands: runs of old code must not count as finished.
    """
    builder = registry.entry(question.config.model.name).builder
    is_ours = builder.__module__.startswith("elu_zoo.")
    if question.module is None or (is_ours and activation in table.BUILT_IN):
        return ""
    content = user_module.load(question.module).read_bytes()
    return hashlib.sha256(content).hexdigest()
