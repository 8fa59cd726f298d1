"""Names of the experiments, importable without Keras."""

from collections.abc import Sequence

from elu_zoo import errors

# Modules of `figures` by name of the experiment, in the paper's order.
MODULES = {
    "fig1": "fig1_activations",
    "fig2": "fig2_mnist_curves",
    "fig3": "fig3_autoencoders",
    "fig4": "fig4_cifar_curves",
    "fig5": "fig5_batch_norm",
    "table1": "table1",
    "fig6": "fig6_imagenet_curves",
    "timing": "timing",
    "fig7": "fig7_median_changes",
    "depth": "depth",
    "theory": "bias_shift",
    "gradients": "gradients",
    "theorems": "theorems",
}


def check(names: Sequence[str]) -> None:
    """Checks the names of experiments, `all` for every experiment, and the packages."""
    for name in names:
        if name not in (*MODULES, "all"):
            raise errors.unknown_name_error("experiment", name, [*MODULES, "all"])
    if not names:
        raise errors.UsageError(
            f"Pass at least one experiment: all, or some of {', '.join(MODULES)}."
        )
    errors.check_packages("An experiment", ("scipy", "pandas", "matplotlib"), "paper")
