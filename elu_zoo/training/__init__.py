"""Training of networks: the function `train`."""

from typing import Any

__all__ = ["train"]


def __getattr__(name: str) -> Any:
    if name == "train":
        from elu_zoo.training.loop import train

        return train
    raise AttributeError(f"module 'elu_zoo.training' has no attribute {name!r}")
