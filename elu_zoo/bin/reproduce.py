"""Runs the paper's experiments, and writes figures, claims and a report.

elu-zoo-reproduce fig2 --budget=short
elu-zoo-reproduce all --budget=smoke
elu-zoo-reproduce fig4 --activations=elu,my_units:half_tanh --seeds=5

Experiments: fig1 ... fig7, wilcoxon, rivals, table1, timing, depth, noise, theory,
theorems, natural_gradient, or all. A run that is finished is not run again; one that
was stopped goes on. Runs need MNIST, CIFAR-100 or ImageNet: --data_dir, --imagenet.
"""

import functools
from pathlib import Path

from absl import flags as absl_flags

from elu_zoo.bin import flags
from elu_zoo.paper import names

_ACTIVATIONS = absl_flags.DEFINE_list(
    "activations",
    None,
    "To compare, instead of each experiment's own: names of the zoo, or "
    "module:function of your own.",
)
_SEEDS = absl_flags.DEFINE_integer(
    "seeds", None, "Runs of each arm, paired by seed; by default the budget's."
)
_BUDGET = absl_flags.DEFINE_enum(
    "budget",
    "short",
    ["smoke", "short", "full"],
    "full: the paper's length; short: hours on two CPU cores; smoke: a test of the "
    "way, in minutes.",
)
_JOBS = absl_flags.DEFINE_integer(
    "jobs", None, "Runs at once; by default one a core, if memory permits.", 1
)
_OUTPUT = absl_flags.DEFINE_string(
    "output", "reproduction", "Folder for figures/, claims.csv and reproduction.md."
)
_WORKDIR = absl_flags.DEFINE_string(
    "workdir", "runs/reproduction", "Gets a folder for each run."
)
_IMAGENET = absl_flags.DEFINE_string(
    "imagenet", None, "Folder of ImageNet's images, for fig6."
)
flags.define("data_dir")


def check(argv: list[str]) -> None:
    names.check(argv[1:])


def main(argv: list[str]) -> None:
    from elu_zoo.paper import reproduce
    from elu_zoo.paper.run import own_activations, runner
    from elu_zoo.paper.run.spec import Plan

    output = Path(_OUTPUT.value)
    chosen = reproduce.check(argv[1:], output)
    named = _ACTIVATIONS.value
    plan = Plan(
        _BUDGET.value,
        own_activations.register(named) if named else None,
        _SEEDS.value,
        Path(_WORKDIR.value),
        absl_flags.FLAGS.data_dir,
        _IMAGENET.value,
    )
    reproduce.reproduce(
        chosen,
        plan,
        output,
        jobs=_JOBS.value or runner.default_jobs(),
        named=named or (),
        say=functools.partial(print, flush=True),
    )


def run() -> None:
    flags.run(main, check)


if __name__ == "__main__":
    run()
