"""Lines of tools/gpu_queue.txt: the config of a run, and whether it is stored."""

import dataclasses
import importlib
import json
import shlex
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Job:
    """A line of the queue."""

    line: str

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        kept = (c if c.isalnum() or c in "._=-" else "-" for c in self.line)
        return "".join(kept).removeprefix("elu-zoo-train---config=")

    @property
    def trained(self) -> str:
        """The config and the changed fields, as in trials.csv; "" for experiments."""
        words = shlex.split(self.line)
        is_command = words[0] == "elu-zoo-train"
        return " ".join(words[1:]).removeprefix("--config=") if is_command else ""

    def trial(self):
        """Returns the experiment's name, the plan and the spec of the run."""
        from elu_zoo.pairs.spec import Plan
        from elu_zoo.paper.experiments import EXPERIMENTS

        name, budget, unit, seed, *variant = shlex.split(self.line)
        plan = Plan(budget, int(seed) + 1, Path("runs"))
        key = unit.removesuffix("_bn"), unit.endswith("_bn"), int(seed), *variant
        for trial in EXPERIMENTS[name].trials(plan):
            own = trial.activation, trial.batch_norm, trial.seed, trial.variant
            if own[: len(key)] == key:
                return name, plan, trial
        raise SystemExit(f"No run of {name} fits the line {self.line!r}.")

    def config(self):
        """Returns the config of the run."""
        if not self.trained:
            return self.trial()[2].load()
        first, *changes = shlex.split(self.trained)
        name, _, arguments = first.partition(":")
        module = importlib.import_module(f"elu_zoo.configs.{name}")
        config = module.get_config(arguments)
        for change in changes:
            key, _, value = change.removeprefix("--config.").partition("=")
            config.update_from_flattened_dict({key: _literal(value)})
        return config

    def images(self) -> int:
        """Returns the number of images in all iterations of the run."""
        from elu_zoo.data import load

        config = self.config()
        name, validation = config.data.name, config.data.train_on_validation
        count = config.data.train_examples or load.training_images(name, validation)
        return count * config.train.epochs

    def is_stored(self, results: Path) -> bool:
        """Returns whether the rows of the run are stored."""
        from elu_zoo.results import read_file

        if not self.trained:
            from elu_zoo.paper.views import points

            name, _, trial = self.trial()
            return points(name, results).has(trial)
        rows = read_file(results / "trials.csv")
        config = self.config()
        key = {
            "config": config.name,
            "activation": config.model.activation.name,
            "batch_norm": str(config.model.batch_norm),
            "seed": str(config.seed),
            "schedule": config.schedule,
            "epochs": str(config.train.epochs),
        }
        return any(row["config"] == self.trained for row in rows) or any(
            key.items() <= row.items() for row in read_file(results / "results.csv")
        )


def _literal(value: str):
    try:
        return json.loads(value.lower() if value in ("True", "False") else value)
    except ValueError:
        return value


def read_queue(path: Path) -> list[Job]:
    """Returns the jobs of a queue file, without comments and empty lines."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [Job(line) for line in lines if line and not line.startswith("#")]
