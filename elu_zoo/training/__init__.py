"""Training of networks: the function `train`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elu_zoo.training.loop import train
else:

    def __getattr__(name):
        if name == "train":
            from elu_zoo.training.loop import train

            return train
        raise AttributeError(f"module 'elu_zoo.training' has no attribute {name!r}")


__all__ = ["train"]
