"""Compilation of training steps: the table by which every backend decides."""

import dataclasses
from collections.abc import Iterable

import keras
import numpy as np

from elu_zoo import errors

STRATEGIES = ("auto", "one", "mirrored", "multi_worker")
COMPILE = ("auto", "on", "off")


@dataclasses.dataclass(frozen=True)
class Compilation:
    """How the steps of a run are compiled.

    Attributes:
        compiled: the step is an XLA program.
        steps_per_call: iterations in one program.
        accumulate: parts of a replica's share of a batch. Their gradients are computed
            one after the other and added, which needs less memory.
    """

    compiled: bool
    steps_per_call: int
    accumulate: int = 1

    def padded(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Returns arrays of iterations, padded to the number in a program."""
        missing = self.steps_per_call - len(arrays[0])
        return [
            np.pad(array, [(0, missing)] + [(0, 0)] * (array.ndim - 1))
            for array in arrays
        ]


@dataclasses.dataclass(frozen=True)
class Rule:
    """A row of the table.

    Attributes:
        where: the facts for which the row holds: `cpu` or `gpu`; `convolutional` or
            `dense`; `several` devices; `updates` of variables by layers, such as batch
            normalisation.
        compiled: see `Compilation`.
        steps_per_call: see `Compilation`.
        reason: of the choice, with ratios that were measured on two cores.
    """

    where: frozenset[str]
    compiled: bool
    steps_per_call: int
    reason: str


def _rule(where: str, compiled: bool, steps_per_call: int, reason: str) -> Rule:
    return Rule(frozenset(where.split()), compiled, steps_per_call, reason)


# The first row that fits is taken; compile=on or off skips rows of the other kind.
RULES = (
    _rule(
        *("several updates", False, 10),
        "Variables that a layer updates cannot be in the pure function that XLA "
        "compiles for each replica.",
    ),
    _rule(
        *("cpu convolutional", False, 10),
        "TensorFlow's own kernels multiply in bfloat16 and pool fast; XLA's took 2.5 "
        "times as long, in float32.",
    ),
    _rule(
        *("several", True, 100),
        "One iteration a call made two replicas of a dense network 4 times as slow.",
    ),
    _rule(
        *("cpu convolutional", True, 1),
        "XLA runs convolutions in a loop on one core without its fast kernels: they "
        "took 250 times as long.",
    ),
    _rule(
        *("cpu", True, 100),
        "With one iteration a call the small network took 4 times as long, without XLA "
        "3 times.",
    ),
    _rule("gpu", True, 100, "As for dense networks on a CPU; not measured yet."),
    _rule("", False, 10, "What is asked for by compile=off; a call costs little."),
)
# A call on resident images takes their indices; one on images that are decoded while
# the run trains takes one batch.
STREAMED_STEPS_PER_CALL = 1
# platform: the sum of gradients over replicas, and the reason
CROSS_DEVICE_OPS = {
    "cpu": ("ReductionToOneDevice", "Keras' fit took 1.4 times as long by default."),
    "gpu": (None, "TensorFlow's default, NCCL; not measured yet."),
}


def choose(facts: Iterable[str], compile_: str) -> Rule:
    """Returns the rule of the table for a run.

    Args:
        facts: see `Rule.where`.
        compile_: of `COMPILE`.
    """
    facts = set(facts)
    wanted = {"auto": (True, False), "on": (True,), "off": (False,)}[compile_]
    fitting = (rule for rule in RULES if rule.where <= facts)
    return next(rule for rule in fitting if rule.compiled in wanted)


def kind(model: keras.Model) -> str:
    """Returns `convolutional` or `dense`."""
    found = any(isinstance(layer, keras.layers.Conv2D) for layer in model.layers)
    return "convolutional" if found else "dense"


def check_devices(strategy: str, num_devices: int | None) -> None:
    """Checks the strategy and the number of devices that a user asks for.

    Raises:
        UsageError: an unknown strategy, or no device.
    """
    if strategy not in STRATEGIES:
        raise errors.unknown("strategy", strategy, STRATEGIES)
    if num_devices is not None and num_devices < 1:
        raise errors.UsageError(f"num_devices is >= 1. Received: {num_devices}.")


def check_compile(compile_: str, steps_per_call: int | None, accumulate: int) -> None:
    """Checks the options of compilation that a user asks for.

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
