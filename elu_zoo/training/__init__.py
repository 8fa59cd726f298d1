"""Training of networks: the function `train`, and `Observe`, its optional records."""

import sys
import types
from typing import Any

__all__ = ["Observe", "train"]


class _Package(types.ModuleType):
    """Class of this package: its attribute `train` is the function, not the module."""

    def __setattr__(self, name: str, value: Any) -> None:
        # When the submodule `train` is imported, Python sets the attribute `train` of
        # this package to the submodule.
        if name == "train" and isinstance(value, types.ModuleType):
            value = value.train
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "train":
        from elu_zoo.training.train import train

        return train
    if name == "Observe":
        from elu_zoo.training.recorder import Observe

        return Observe
    raise AttributeError(f"module 'elu_zoo.training' has no attribute {name!r}")
