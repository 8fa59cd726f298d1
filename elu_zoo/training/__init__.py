"""Training of networks: the function `train`, and `Observe`, its optional records."""

from typing import Any

__all__ = ["Observe", "train"]


def __getattr__(name: str) -> Any:
    if name == "train":
        from elu_zoo.training.loop import train

        return train
    if name == "Observe":
        from elu_zoo.training.record.recorder import Observe

        return Observe
    raise AttributeError(f"module 'elu_zoo.training' has no attribute {name!r}")
