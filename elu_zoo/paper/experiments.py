"""The table of experiments, in the paper's order."""

import importlib
from collections.abc import Sequence

from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.names import MODULES

EXPERIMENTS: dict[str, Experiment] = {
    name: importlib.import_module(f"elu_zoo.paper.figures.{module}").EXPERIMENT
    for name, module in MODULES.items()
}


def chosen(names: Sequence[str]) -> list[str]:
    """Returns the named experiments (`all`: every one) and those they read, in table order."""
    selected = set(EXPERIMENTS) if "all" in names else set(names)
    for name in selected.copy():
        selected |= set(EXPERIMENTS[name].reads)
    return [name for name in EXPERIMENTS if name in selected]
