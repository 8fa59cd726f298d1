"""Compares activations by runs with equal seeds and tuning, and writes a report.

elu-zoo-compare --config=quickstart --activations=elu,relu,gelu
elu-zoo-compare --config=mnist_mlp_8x128 --activations=elu,my_unit --module=my_zoo.py

The first activation is the reference. For each activation, validation images choose a
factor, which multiplies all learning rates of the config. Then every activation is
trained with every seed. Finished runs are not repeated, and stopped runs are resumed.
"""

import functools
import sys
from pathlib import Path

from absl import flags as absl_flags

from elu_zoo.bin import config as configs
from elu_zoo.bin import early, flags

_ACTIVATIONS = absl_flags.DEFINE_list(
    "activations", None, "Activations to compare, the reference first.", required=True
)
_SEEDS = absl_flags.DEFINE_integer(
    "seeds", None, "Number of seeds; by default 5, with --budget=smoke 2."
)
_TUNE = absl_flags.DEFINE_integer(
    "tune",
    None,
    "Number of factors on the learning rates to try for each activation; 1: no "
    "tuning. By default 5, with --budget=smoke 3.",
)
_BUDGET = absl_flags.DEFINE_enum(
    "budget",
    "full",
    ["smoke", "short", "full"],
    "full: the config's length; short: a fifth of its epochs; smoke: a test.",
)
_DECIDING = "activations", "seeds", "tune", "budget"  # flags that decide the numbers
_JOBS = absl_flags.DEFINE_integer(
    "jobs", None, "Simultaneous runs; by default one per core, if memory permits.", 1
)
_OUTPUT = flags.define_path(
    "output",
    None,
    "Folder for tables, figures, report.md and runs. By default runs/compare/<config>[-<budget>].",
)
flags.define("config", "data", "data_dir", "module")


def main(_: list[str]) -> None:
    from elu_zoo.compare import changes, question
    from elu_zoo.pairs import runner

    values, budget = absl_flags.FLAGS, _BUDGET.value
    smoke = budget == "smoke"
    config = original = configs.with_data(values.config, values.data)
    if smoke:
        config = configs.with_data(configs.smoke(values["config"]), values.data)
    if budget == "short":
        config = changes.shortened(config)
    name = config.name if budget == "full" else f"{config.name}-{budget}"
    train_command = configs.command("elu-zoo-train", sys.argv)
    request = question.Question(
        config=config,
        command=configs.command("elu-zoo-compare", sys.argv, _DECIDING),
        train_command=changes.command(train_command, original, config),
        activations=_ACTIVATIONS.value,
        seeds=_SEEDS.value if _SEEDS.present else (2 if smoke else 5),
        tune=_TUNE.value if _TUNE.present else (3 if smoke else 5),
        output=Path(_OUTPUT.value or Path("runs", "compare", name)),
        data_dir=values.data_dir,
        module=values.module,
    )
    jobs = _JOBS.value or runner.default_jobs()
    say = functools.partial(print, flush=True)
    checked = question.check(request)
    from elu_zoo.compare import comparison  # needs the packages that `check` has found

    comparison.compare(checked, jobs, say)


def run() -> None:
    flags.run(main, early.check_comparison)


if __name__ == "__main__":
    run()
