"""The table of experiments, in the paper's order, and what each of them needs."""

from collections.abc import Sequence

from elu_zoo.experiments import (
    activation_functions,
    autoencoders,
    cifar_curves,
    depth,
    imagenet_curves,
    median_changes,
    mnist_curves,
    natural_descent,
    noise,
    rivals,
    table1,
    theorems,
    theory,
    timing,
    wilcoxon,
)
from elu_zoo.experiments.experiment import Experiment
from elu_zoo.experiments.names import check

EXPERIMENTS: dict[str, Experiment] = {
    "fig1": activation_functions.EXPERIMENT,
    "fig2": mnist_curves.EXPERIMENT,
    "fig3": autoencoders.EXPERIMENT,
    "fig4": cifar_curves.COMPARISON,
    "fig5": cifar_curves.BATCH_NORM,
    "wilcoxon": wilcoxon.EXPERIMENT,
    "rivals": rivals.EXPERIMENT,
    "table1": table1.EXPERIMENT,
    "fig6": imagenet_curves.EXPERIMENT,
    "timing": timing.EXPERIMENT,
    "fig7": median_changes.EXPERIMENT,
    "depth": depth.EXPERIMENT,
    "noise": noise.EXPERIMENT,
    "theory": theory.EXPERIMENT,
    "theorems": theorems.EXPERIMENT,
    "natural_gradient": natural_descent.EXPERIMENT,
}


def chosen(names: Sequence[str]) -> list[str]:
    """Returns experiments with those that they read, in the table's order.

    Args:
        names: of the table, or `all`.

    Raises:
        UsageError: an unknown name, or none.
    """
    check(names)
    wanted: set[str] = set()
    for name in names:
        if name == "all":
            wanted |= EXPERIMENTS.keys()
        else:
            wanted |= {name, *EXPERIMENTS[name].reads}
    return [name for name in EXPERIMENTS if name in wanted]
