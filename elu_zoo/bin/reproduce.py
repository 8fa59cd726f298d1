"""Runs the paper's experiments and writes figures, claims and a report.

elu-zoo-reproduce fig2 --budget=short
elu-zoo-reproduce all --budget=smoke
elu-zoo-reproduce fig4 --seeds=5

The experiments are fig1 ... fig7, table1, timing, depth, theory, gradients and
theorems; `all` runs every experiment. Finished runs are not repeated, and interrupted
runs are resumed. The runs need MNIST, CIFAR-100 or ImageNet, see --data_dir and --imagenet.
"""

import functools
from pathlib import Path

from absl import flags as absl_flags

from elu_zoo.bin import flags
from elu_zoo.paper import names

absl_flags.DEFINE_integer("seeds", None, "Number of seeds; by default the experiment's.")
flags.define_budget(
    "short",
    "full: length of the paper's runs; short: hours or a day on two CPU cores; smoke: a test.",
)
flags.define_path("output", "reproduction", "Folder for figures/, claims.csv and reproduction.md.")
flags.define_path("workdir", "runs/reproduction", "Folder with one subfolder per run.")
flags.define_path("imagenet", None, "Folder of ImageNet's images, for fig6.")
flags.define("data_dir")


def main(argv: list[str]) -> None:
    from elu_zoo.pairs import runner
    from elu_zoo.pairs.spec import Plan
    from elu_zoo.paper import reproduce

    values = absl_flags.FLAGS
    output, workdir = Path(values.output), Path(values.workdir)
    plan = Plan(values.budget, values.seeds, workdir, values.data_dir, values.imagenet)
    jobs = values.jobs or runner.default_jobs()
    say = functools.partial(print, flush=True)
    reproduce.reproduce(argv[1:], plan, output, jobs=jobs, say=say)


run = flags.binary(main, lambda argv: names.check(argv[1:]))

if __name__ == "__main__":
    run()
