"""The training loop and its parts."""

from typing import Any

__all__ = ["train"]


def __getattr__(name: str) -> Any:
    if name != "train":
        raise AttributeError(f"module 'elu_zoo.training' has no attribute {name!r}")
    from elu_zoo.training.loop import train

    return train
