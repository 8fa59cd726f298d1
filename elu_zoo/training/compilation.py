"""Compilation of training steps, chosen from one table on every backend."""

import dataclasses

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

    def pad(self, *arrays: np.ndarray) -> list[np.ndarray]:
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
        facts: the row fits a run that has these facts: `cpu` or `gpu`; `convolutional`
            or `dense`; `several` devices; layers with `updates` of variables, such as
            batch normalisation.
        compiled: see `Compilation`.
        steps_per_call: see `Compilation`.
        reason: why, with ratios measured on two cores.
    """

    facts: str
    compiled: bool
    steps_per_call: int
    reason: str


# The first row that fits is taken; compile=on or off skips rows of the other kind.
RULES = (
    Rule(
        *("several updates", False, 10),
        "XLA compiles a pure function for each replica. It cannot contain variables "
        "that a layer updates.",
    ),
    Rule(
        *("cpu convolutional", False, 10),
        "TensorFlow's own kernels multiply in bfloat16 and pool fast; XLA's took 2.5 "
        "times as long, in float32.",
    ),
    Rule(
        *("several", True, 100),
        "One iteration a call made two replicas of a dense network 4 times as slow.",
    ),
    Rule(
        *("cpu convolutional", True, 1),
        "XLA runs convolutions in a loop on one core without its fast kernels: they "
        "took 250 times as long.",
    ),
    Rule(
        *("cpu", True, 100),
        "With one iteration a call the small network took 4 times as long, without XLA "
        "3 times.",
    ),
    Rule("gpu", True, 100, "Same as dense networks on a CPU; not measured yet."),
    Rule("", False, 10, "The user passed compile=off; a call costs little."),
)
# Images that are decoded while the run trains come batch by batch.
STREAMED_STEPS_PER_CALL = 1
# platform: the sum of gradients over replicas, and the reason
CROSS_DEVICE_OPS = {
    "cpu": ("ReductionToOneDevice", "Keras' fit took 1.4 times as long by default."),
    "gpu": (None, "TensorFlow's default, NCCL; not measured yet."),
}


def choose(facts: set[str], compile_: str) -> Rule:
    """Returns the first rule that fits a run.

    Args:
        facts: see `Rule.facts`.
        compile_: of `COMPILE`.
    """
    wanted = {"auto": (True, False), "on": (True,), "off": (False,)}[compile_]
    fitting = (rule for rule in RULES if facts.issuperset(rule.facts.split()))
    return next(rule for rule in fitting if rule.compiled in wanted)


def kind(model: keras.Model) -> str:
    """Returns `convolutional` or `dense`."""
    found = any(isinstance(layer, keras.layers.Conv2D) for layer in model.layers)
    return "convolutional" if found else "dense"


def check_devices(strategy: str, num_devices: int | None) -> None:
    """Checks flags of devices; raises `UsageError`."""
    errors.check_choice("strategy", strategy, STRATEGIES)
    if num_devices is not None:
        errors.check_integer("num_devices", num_devices, minimum=1)


def check_compile(compile_: str, steps_per_call: int | None, accumulate: int) -> None:
    """Checks flags of compilation; raises `UsageError`."""
    errors.check_choice("value of compile", compile_, COMPILE)
    if steps_per_call is not None:
        errors.check_integer("steps_per_call", steps_per_call, minimum=1)
    errors.check_integer("accumulate", accumulate, minimum=1)
