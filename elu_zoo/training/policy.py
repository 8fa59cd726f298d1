"""How the steps of a run are compiled: what every backend decides in its own way."""

import dataclasses

import numpy as np

from elu_zoo import errors

STRATEGIES = ("auto", "one", "mirrored", "multi_worker")
COMPILE = ("auto", "on", "off")


@dataclasses.dataclass(frozen=True)
class Policy:
    """How the steps of a run are compiled.

    Attributes:
        compiled: the step is an XLA program.
        steps_per_call: iterations in one program.
        accumulate: parts of a replica's share of a batch, whose gradients are computed
            one after the other and added, so that less memory is needed.
    """

    compiled: bool
    steps_per_call: int
    accumulate: int = 1

    def padded(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Returns arrays of iterations filled up to a call, a program of one shape."""
        missing = self.steps_per_call - len(arrays[0])
        return [
            np.pad(array, [(0, missing)] + [(0, 0)] * (array.ndim - 1))
            for array in arrays
        ]


def check_devices(strategy: str, num_devices: int | None) -> None:
    """Checks what a user asked for.

    Raises:
        UsageError: an unknown strategy, or no device.
    """
    if strategy not in STRATEGIES:
        raise errors.unknown("strategy", strategy, STRATEGIES)
    if num_devices is not None and num_devices < 1:
        raise errors.UsageError(f"num_devices is >= 1. Received: {num_devices}.")


def check_compile(compile_: str, steps_per_call: int | None, accumulate: int) -> None:
    """Checks what a user asked for.

    Raises:
        UsageError: an unknown value of `compile`, no step in a call, or no part of a
            batch.
    """
    if compile_ not in COMPILE:
        raise errors.unknown("value of compile", compile_, COMPILE)
    if steps_per_call is not None and steps_per_call < 1:
        raise errors.UsageError(f"steps_per_call is >= 1. Received: {steps_per_call}.")
    if accumulate < 1:
        raise errors.UsageError(f"accumulate is >= 1. Received: {accumulate}.")
