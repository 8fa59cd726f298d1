"""One run of an experiment: a config, what is kept of it, and where it is."""

import dataclasses
import hashlib
import importlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.training.config import config_hash
from elu_zoo.training.recorder import Observe

BUDGETS = "smoke", "short", "full"


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is asked for.

    Attributes:
        budget: `full` is the paper's own length, `short` what two CPU cores do in
            hours, `smoke` a test of the way.
        activations: names; None for each experiment's own.
        seeds: how many, from 0; None for each experiment's own.
        workdir: gets a folder for each run.
        data_dir: see `load.load`.
        imagenet: folder of ImageNet's images; None for what tensorflow-datasets
            prepared.
    """

    budget: str
    activations: Sequence[str] | None
    seeds: int | None
    workdir: Path
    data_dir: str | None = None
    imagenet: str | None = None

    def __post_init__(self):
        if self.budget not in BUDGETS:
            raise errors.unknown("budget", self.budget, BUDGETS)
        if self.seeds is not None and self.seeds < 1:
            raise errors.UsageError(f"seeds is >= 1. Received: {self.seeds}.")

    @property
    def smoke(self) -> bool:
        """Whether only the way is tested."""
        return self.budget == "smoke"

    def arms(self, *own: str) -> tuple[str, ...]:
        """Returns the activations to compare: those asked for, else `own`."""
        return tuple(self.activations or own)

    def runs(self, smoke: int, short: int, full: int) -> range:
        """Returns the seeds: those asked for, else as many as the budget has."""
        return range(self.seeds or self.of(smoke, short, full))

    def of(self, smoke: Any, short: Any, full: Any) -> Any:
        """Returns what belongs to the budget."""
        return dict(zip(BUDGETS, (smoke, short, full), strict=True))[self.budget]


@dataclasses.dataclass(frozen=True)
class Trial:
    """One run.

    Attributes:
        config: name of an installed config.
        arguments: of the config, `key=value,...`.
        budget: of the plan.
        activation: its name.
        seed: runs of one seed are a pair: equal initial weights, equal order of images.
        batch_norm: with batch normalisation.
        variant: what else tells arms apart, such as a learning rate; "" for nothing.
        changes: of the config's entries, `("train.epochs", 20)`.
        observe: what is kept of the run.
    """

    config: str
    arguments: str
    budget: str
    activation: str
    seed: int
    batch_norm: bool = False
    variant: str = ""
    changes: tuple[tuple[str, Any], ...] = ()
    observe: Observe = Observe()

    @property
    def command(self) -> str:
        """The command line that makes the config."""
        flag = f"--config={self.config}:{self._all_arguments}"
        changes = [f"--config.{key}={value}" for key, value in self.changes]
        return shlex.join(["elu-zoo-train", flag, *changes])

    @property
    def _all_arguments(self) -> str:
        own = f"{self.arguments}," if self.arguments else ""
        return (
            f"{own}activation={self.activation},seed={self.seed},"
            f"batch_norm={self.batch_norm},smoke={self.budget == 'smoke'}"
        )

    def load(self) -> ConfigDict:
        """Returns the config."""
        module = importlib.import_module(f"elu_zoo.configs.{self.config}")
        config = module.get_config(self._all_arguments)
        for key, value in self.changes:
            *parents, last = key.split(".")
            entry = config
            for parent in parents:
                entry = entry[parent]
            if last not in entry:
                raise errors.unknown(f"entry of {self.config}", key, entry)
            entry[last] = value
        return config

    def folder(self, plan: Plan) -> Path:
        """Returns the run's folder."""
        name = self.activation + "_bn" * self.batch_norm
        run = f"{name}-s{self.seed}-{self.hash}"
        return plan.workdir / self.load().name / run

    @property
    def hash(self) -> str:
        """Eight digits that tell configs apart."""
        return config_hash(self.load())[:8]

    @property
    def arm_hash(self) -> str:
        """Eight digits that tell arms apart, and what is kept of their runs."""
        first = dataclasses.replace(self, seed=0)
        text = f"{first.hash} {dataclasses.astuple(self.observe)}"
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def key(self) -> dict[str, str]:
        """What tells the rows of runs apart, as a CSV file has it."""
        return {
            "budget": self.budget,
            "activation": self.activation,
            "batch_norm": str(self.batch_norm),
            "variant": self.variant,
            "seed": str(self.seed),
            "epochs": str(self.load().train.epochs),
            "arm": self.arm_hash,
        }

    @property
    def label(self) -> str:
        """Returns the run's name for people."""
        name = self.activation + " + batch norm" * self.batch_norm
        parts = self.config, self.variant, name, f"seed {self.seed}"
        return ", ".join(part for part in parts if part)
