"""The table of experiments, in the paper's order."""

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
    fig5_batch_norm,
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
    "fig4": fig4_cifar_curves.EXPERIMENT,
    "fig5": fig5_batch_norm.EXPERIMENT,
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
    """Returns the named experiments and the experiments they read, in table order.

    Args:
        names: names of experiments, or `all`.
    """
    check(names)
    selected = set(EXPERIMENTS) if "all" in names else set(names)
    for name in names:
        if name != "all":
            selected |= set(EXPERIMENTS[name].reads)
    return [name for name in EXPERIMENTS if name in selected]
