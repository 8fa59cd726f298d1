"""Compilation of training steps, chosen from one table for all backends."""

import dataclasses

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.layers.dropout import is_keyed
from elu_zoo.models.cost import all_layers
from elu_zoo.training import hardware

COMPILE = ("auto", "on", "off")


@dataclasses.dataclass(frozen=True)
class Compilation:
    """How the steps of a run are compiled."""

    compiled: bool  # whether XLA compiles the step
    steps_per_call: int  # largest number of iterations in a call of the function
    accumulate: int = 1  # number of parts of a replica's examples, to save memory
    static: bool = False  # on JAX, whether full calls have a constant number of iterations

    def pad(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Returns arrays `(count, ...)`, padded by zeros to `(steps_per_call, ...)`."""
        missing = self.steps_per_call - len(arrays[0])
        return [np.pad(array, [(0, missing)] + [(0, 0)] * (array.ndim - 1)) for array in arrays]


@dataclasses.dataclass(frozen=True)
class Rule:
    """A row of the table `RULES`."""

    # Words that must describe a run: `cpu` or `gpu`; `convolutional` or `dense`; `several`
    # replicas; `updates` if their layers update variables.
    facts: str
    compiled: bool
    steps_per_call: int
    static: bool = False


# The first row that fits a run is used. compile=on skips rows with compiled=False, and
# compile=off skips the other rows. Ratios are of two CPU cores.
RULES = (
    # XLA needs a pure function of each replica, without variables that a layer updates.
    Rule("several updates", False, 10),
    # TensorFlow's kernels multiply in bfloat16 and pool fast: XLA's took 2.5 times as long.
    Rule("cpu convolutional", False, 10),
    # One iteration per call made two replicas of a dense network 4 times as slow.
    Rule("several", True, 100),
    # In a loop, XLA runs convolutions on one core, which took 250 times as long.
    Rule("cpu convolutional", True, 1),
    # A small network took 4 times as long with one iteration per call, 3 times without XLA.
    Rule("cpu", True, 100),
    # With a constant number of iterations JAX took 0.95 of the time on an H100.
    Rule("gpu", True, 100, static=True),
    Rule("", False, 10),  # for compile=off
)
# Encoded images are decoded during training, and arrive one batch at a time.
STREAMED_STEPS_PER_CALL = 1
# Least number of seconds between two regular checkpoints, by platform. A GPU computes
# the iterations between two checkpoints faster than a checkpoint is written.
CHECKPOINT_SECONDS = {"cpu": 0.0, "gpu": 30.0}


def choose(
    model: keras.Model,
    replicas: int,
    compile_: str,
    steps_per_call: int | None,
    accumulate: int = 1,
) -> Compilation:
    """Chooses how steps are compiled, by the table `RULES`."""
    errors.check_choice("value of compile", compile_, COMPILE)
    if steps_per_call is not None:
        errors.check_integer("steps_per_call", steps_per_call, minimum=1)
    errors.check_integer("accumulate", accumulate, minimum=1)
    on_jax = keras.backend.backend() == "jax"
    if on_jax and (accumulate > 1 or compile_ == "off"):
        raise errors.UsageError(
            "KERAS_BACKEND=jax compiles every step, and cannot split a batch. Received: compile "
            f"{compile_!r}, accumulate {accumulate}. Remove --compile and --accumulate, or set "
            "KERAS_BACKEND=tensorflow."
        )
    facts = {"gpu" if hardware.accelerators() else "cpu", kind(model)}
    if replicas > 1:
        facts.add("several")
        # Steps do not update weights of frozen layers, nor the random states of keyed layers.
        layers = [layer for layer in all_layers(model) if not is_keyed(layer)]
        drawn = (layer for layer in layers if len(layer.variables) > len(layer.weights))
        if any(drawn) or any(x.non_trainable_variables for x in layers if x.trainable):
            facts.add("updates")
    if "updates" in facts and (accumulate > 1 or compile_ == "on"):
        raise errors.UsageError(
            "accumulate must be 1 and compile not 'on' with several replicas and layers that "
            "update variables, such as batch normalisation. Received: accumulate "
            f"{accumulate}, compile {compile_!r}. Set --compile=auto, and use more devices or a "
            "smaller train.batch_size to save memory."
        )
    rule = fitting_rule(facts, "on" if on_jax else compile_)
    steps = steps_per_call or rule.steps_per_call
    return Compilation(rule.compiled, steps, accumulate, on_jax and rule.static)


def fitting_rule(facts: set[str], compile_: str) -> Rule:
    """Returns the first rule that fits the facts of a run and a value of `COMPILE`."""
    allowed = {"auto": (True, False), "on": (True,), "off": (False,)}[compile_]
    fitting = (rule for rule in RULES if facts.issuperset(rule.facts.split()))
    return next(rule for rule in fitting if rule.compiled in allowed)


def kind(model: keras.Model) -> str:
    """Returns `convolutional` for a model with convolutions, otherwise `dense`."""
    # A kernel (height, width, ...) also shows convolutions in nested models.
    has_conv = any(len(weight.shape) > 3 for weight in model.weights)
    return "convolutional" if has_conv else "dense"
