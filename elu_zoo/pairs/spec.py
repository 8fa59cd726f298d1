"""The options of a reproduction, and the spec of each run: its config and folder."""

import dataclasses
import hashlib
import importlib
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ml_collections import ConfigDict

from elu_zoo import errors, files, user_module
from elu_zoo.training.config import as_dict, code_digest, dict_hash
from elu_zoo.training.fields import flat

if TYPE_CHECKING:
    from elu_zoo.training.record.observers import Observer

BUDGETS = "smoke", "short", "full"


@dataclasses.dataclass(frozen=True)
class Plan:
    """Options of a reproduction: which runs to train, and where their data are.

    Attributes:
        budget: `full` is the paper's length, where the paper has the experiment;
            `short` takes hours or a day on two CPU cores; `smoke` tests that everything runs.
        seeds: number of seeds; None for the default of each experiment.
        imagenet: folder of ImageNet's images; None for tensorflow-datasets.
        module: a user's file or module that registers activations.
    """

    budget: str
    seeds: int | None
    workdir: Path
    data_dir: str | None = None
    imagenet: str | None = None
    module: str | None = None

    def __post_init__(self):
        if self.seeds is not None and self.seeds < 1:
            raise errors.UsageError(f"seeds must be >= 1. Received: {self.seeds}.")

    @property
    def smoke(self) -> bool:
        """Whether the runs only test that the code works."""
        return self.budget == "smoke"

    def runs(self, smoke: int, short: int, full: int) -> range:
        """Returns the seeds; the arguments are the default numbers of the budgets."""
        return range(self.seeds or self.of(smoke, short, full))

    def of(self, smoke: Any, short: Any, full: Any) -> Any:
        """Returns the argument that belongs to this plan's budget."""
        return dict(zip(BUDGETS, (smoke, short, full), strict=True))[self.budget]


@dataclasses.dataclass(frozen=True)
class Trial:
    """Spec of one run.

    Attributes:
        config: name of an installed config.
        arguments: arguments of the config, `key=value,...`.
        seed: runs with equal seeds are a pair.
        variant: another difference between runs, such as the learning rate.
        changes: changed fields of the config, such as `("train.epochs", 20)`.
        observers: what the run records besides its metrics.
        factor: factor on the learning rates of the config.
        base: a user's config, which replaces the installed config; only its activation
            and seed are changed.
        base_command: command line that trains a run of `base`.
        code: hash of a user's code, see `code_hash`; "" if the run does not depend on it.
        images: name with a hash of a user's images, or "".
    """

    config: str
    arguments: str
    budget: str
    activation: str
    seed: int
    batch_norm: bool = False
    variant: str = ""
    changes: tuple[tuple[str, Any], ...] = ()
    observers: tuple["Observer", ...] = ()
    factor: float = 1.0
    base: ConfigDict | None = dataclasses.field(default=None, repr=False, compare=False)
    base_command: str = ""
    code: str = ""
    images: str = ""

    @property
    def command(self) -> str:
        """The command line that trains the run."""
        if self.base is not None:
            return f"{self.base_command} {changed_flags(self.base, self.load())}".strip()
        flag = f"--config={self.config}:{self._config_arguments}"
        changes = [f"--config.{key}={value}" for key, value in self.changes]
        return shlex.join(["elu-zoo-train", flag, *changes])

    @property
    def _config_arguments(self) -> str:
        own = f"{self.arguments}," if self.arguments else ""
        return (
            f"{own}activation={self.activation},seed={self.seed},"
            f"batch_norm={self.batch_norm},smoke={self.budget == 'smoke'}"
        )

    def load(self) -> ConfigDict:
        """Returns the config with the fields of `changes`."""
        if self.base is not None:
            config = self.base.copy_and_resolve_references()
            with config.unlocked():
                config.model.activation = ConfigDict({"name": self.activation, "alpha": None})
                config.seed = self.seed
        else:
            module = importlib.import_module(f"elu_zoo.configs.{self.config}")
            config = module.get_config(self._config_arguments)
        config.lock()  # an unknown field in `changes` is now an error
        config.update_from_flattened_dict(dict(self.changes))
        if self.factor != 1:
            rates = tuple(rate * self.factor for rate in config.train.learning_rates)
            config.train.learning_rates = rates
        return config

    def folder(self, plan: Plan) -> Path:
        """Returns the run's folder."""
        name = self.activation + "_bn" * self.batch_norm
        run = f"{name}-s{self.seed}-{self.hash}"
        return plan.workdir / self.load().name / run

    @property
    def hash(self) -> str:
        """Eight digits of the hash of the config, and of `code` and `images`."""
        text = dict_hash(as_dict(self.load()))
        if own := self.code + self.images:
            text = hashlib.sha256((text + own).encode()).hexdigest()
        return text[:8]

    @property
    def arm_hash(self) -> str:
        """Eight digits of a hash of `observers` and of the config without its seed."""
        first = dataclasses.replace(self, seed=0)
        fields = [(each.name, dataclasses.asdict(each)) for each in self.observers]
        text = f"{first.hash} {fields}"
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def key(self) -> dict[str, str]:
        """The columns of a results store that identify the run."""
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
        """The name of the run in messages."""
        name = self.activation + " + batch norm" * self.batch_norm
        rate = f"rate x {self.factor:g}" * (self.base is not None)
        parts = self.config, self.variant, name, f"seed {self.seed}", rate
        return ", ".join(part for part in parts if part)


def code_hash(module: str, model: ConfigDict) -> str:
    """Imports the user's module; returns a hash of its file and of the model's code now."""
    return files.sha256(user_module.load(module)) + code_digest(model)


def changed_flags(given: ConfigDict, wanted: ConfigDict) -> str:
    """Returns the flags that turn a config into another one with the same fields."""
    old, new = (flat(json.loads(c.to_json_best_effort())) for c in (given, wanted))
    flags = []
    for key in [key for key in new if new[key] != old.get(key) and new[key] is not None]:
        value = tuple(new[key]) if isinstance(new[key], list) else new[key]
        flags.append(f"--config.{key}={value}")
    return shlex.join(flags)
