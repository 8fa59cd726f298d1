"""Compares activations by runs with equal seeds and tuning, and writes a report.

elu-zoo-compare --config=quickstart --activations=elu,relu,gelu
elu-zoo-compare --config=mnist_mlp_8x128 --activations=elu,my_unit --module=my_zoo.py
"""

import functools
import os
import sys
from pathlib import Path

from absl import flags as absl_flags

from elu_zoo.bin import config as configs
from elu_zoo.bin import early, flags

_DECIDING = "activations", "seeds", "tune", "budget"  # flags that decide the numbers
absl_flags.DEFINE_list("activations", None, "Names, the reference first.", required=True)
absl_flags.DEFINE_integer("seeds", None, "Number of seeds; by default 5, in a smoke test 2.")
absl_flags.DEFINE_integer("tune", None, "Most rates to try; by default 7, in a smoke test 3.")
flags.define_path("output", None, "Folder for results and runs; by default runs/compare/<config>.")
flags.define("config", "data", "data_dir", "module")
flags.define_budget("full", "full: the config's length; short: a fifth of it; smoke: a test.")


def main(_: list[str]) -> None:
    from elu_zoo.compare import trials
    from elu_zoo.compare.config import ComparisonConfig, check
    from elu_zoo.pairs import runner
    from elu_zoo.pairs.spec import changed_flags
    from elu_zoo.training.config import resolve

    for name, value in runner.SHARED_GPU.items():  # workers need the memory
        os.environ.setdefault(name, value)
    values, name, seeds, tune = absl_flags.FLAGS, "{}", 5, 7
    usual = configs.usual(values["config"])
    config = original = configs.with_data(values.config, values.data, usual)
    if not config.get("model", {}).get("weights"):  # `check` refuses weights
        resolve(config)  # refuses a config without needed fields
    if values.budget == "smoke":
        usual = configs.usual(values["config"], "smoke=True")
        config = configs.with_data(configs.smoke(values["config"]), values.data, usual)
        seeds, tune, name = 2, 3, "{}-smoke"
    elif values.budget == "short":
        config, name = trials.shortened(config), "{}-short"
    train_command = configs.command("elu-zoo-train", sys.argv)
    comparison_config = ComparisonConfig(
        config=config,
        command=configs.command("elu-zoo-compare", sys.argv, _DECIDING),
        train_command=f"{train_command} {changed_flags(original, config)}".strip(),
        activations=values.activations,
        seeds=seeds if values.seeds is None else values.seeds,
        tune=tune if values.tune is None else values.tune,
        output=Path(values.output or Path("runs/compare", name.format(config.name))),
        data_dir=values.data_dir,
        module=values.module,
    )
    checked = check(comparison_config)
    from elu_zoo.compare import comparison  # needs the packages that `check` has found

    say = functools.partial(print, flush=True)
    comparison.compare(checked, values.jobs or runner.default_jobs(), say)


run = flags.binary(main, early.check_comparison)

if __name__ == "__main__":
    run()
