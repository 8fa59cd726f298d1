"""The table of experiments, in the paper's order, and what each of them needs."""

from collections.abc import Sequence

from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.figures import (
    baselines,
    bias_shift,
    depth,
    fig1_activations,
    fig2_mnist_curves,
    fig3_autoencoders,
    fig4_cifar_curves,
    fig6_imagenet_curves,
    fig7_median_changes,
    natural_gradient,
    noise,
    table1,
    theorems,
    timing,
    wilcoxon,
)
from elu_zoo.paper.names import check

EXPERIMENTS: dict[str, Experiment] = {
    "fig1": fig1_activations.EXPERIMENT,
    "fig2": fig2_mnist_curves.EXPERIMENT,
    "fig3": fig3_autoencoders.EXPERIMENT,
    "fig4": fig4_cifar_curves.COMPARISON,
    "fig5": fig4_cifar_curves.BATCH_NORM,
    "wilcoxon": wilcoxon.EXPERIMENT,
    "rivals": baselines.EXPERIMENT,
    "table1": table1.EXPERIMENT,
    "fig6": fig6_imagenet_curves.EXPERIMENT,
    "timing": timing.EXPERIMENT,
    "fig7": fig7_median_changes.EXPERIMENT,
    "depth": depth.EXPERIMENT,
    "noise": noise.EXPERIMENT,
    "theory": bias_shift.EXPERIMENT,
    "theorems": theorems.EXPERIMENT,
    "natural_gradient": natural_gradient.EXPERIMENT,
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
