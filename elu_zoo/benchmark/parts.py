"""Parts of the benchmark: functions that measure, and return their results as rows."""

import concurrent.futures
import dataclasses
import itertools
import multiprocessing
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np

from elu_zoo import errors, quiet
from elu_zoo.benchmark import limit, report
from elu_zoo.benchmark.case import Case
from elu_zoo.benchmark.report import Row
from elu_zoo.benchmark.rounds import time_interleaved

_SECONDS = 60  # of the rounds of training steps of a case
_BATCHES = 1, 64  # images per prediction
_NETWORKS: dict[str, dict] = {
    "elu": {"activation": "elu"},
    "relu": {"activation": "relu"},
    "relu, batch norm": {"activation": "relu", "batch_norm": True},
}


@dataclasses.dataclass(frozen=True)
class Scope:
    """Networks, batches and rounds of all parts; the batches are the paper's by default.

    Attributes:
        rounds: rounds of all parts; None for as many as their time allows.
    """

    models: Sequence[str]
    batch_size: int | None = None
    rounds: int | None = None

    def cases(self) -> list[Case]:
        return [Case(name, batch_size=self.batch_size or 0) for name in self.models]


def op(scope: Scope) -> list[Row]:
    """The ELU op: eager, traced or compiled calls, their memory, and their errors."""
    from elu_zoo.benchmark import op

    rows = []
    for shape, call, kind in itertools.product(op.SHAPES, op.CALLS, op.PASSES):
        forms = op.forms(call, kind, op.SHAPES[shape])
        units = dict.fromkeys(forms, op.repeats(op.SHAPES[shape]))
        seconds = time_interleaved(forms, 10, scope.rounds, least=40, warm=True, units=units)
        layers = {name: seconds.pop(name) for name in op.LAYERS}
        case = f"{call}, {kind}, {shape}"
        rows += report.timed("op", case, seconds, op.STOCK)
        rows += report.timed("op", f"{case}, layers", layers, op.STOCK_LAYER)
    size = f"{op.MEMORY_FLOATS:.1e} floats".replace("e+0", "e")
    once = {(f"memory {what}, {size}", "MiB"): values for what, values in op.tape_memory().items()}
    once |= {(f"largest error, {call}", "ULP"): op.ulps(call) for call in op.CALLS}
    for (case, unit), values in once.items():
        arrays = {name: np.array([value]) for name, value in values.items()}
        rows += report.rows("op", case, arrays, op.STOCK, unit)
    return rows


def _time_steps(
    part: str, scope: Scope, case: Case, forms: Mapping, baseline: str, how: str = ""
) -> list[Row]:
    """Times functions that take `case.steps` steps, or compute a matrix product."""
    units = {
        name: limit.FLOP / case.flop if name.startswith("limit") else case.steps for name in forms
    }
    seconds = time_interleaved(forms, _SECONDS, scope.rounds, units=units)
    return report.timed(part, f"{case.model}, batch of {case.batch_size}{how}", seconds, baseline)


def fit(scope: Scope) -> list[Row]:
    """Keras' fit of a network with the activation "elu_xla", or with "elu"."""
    from elu_zoo.benchmark import step

    rows = []
    for case in scope.cases():
        for how, arguments in step.fit_arguments(case).items():
            forms = {
                name: step.keras_fit(dataclasses.replace(case, activation=name), **arguments)
                for name in ("elu", "elu_xla")
            }
            rows += _time_steps("fit", scope, case, forms, "elu", f", {how}")
    return rows


def step(scope: Scope) -> list[Row]:
    """A training step: ours, Keras' fit, PyTorch, JAX, and matrix products alone."""
    from elu_zoo.benchmark import step

    rows = []
    for case in scope.cases():
        rows += _time_steps("step", scope, case, step.forms(case) | limit.forms(), step.BASELINE)
    return rows


def unit(scope: Scope) -> list[Row]:
    """Our training step with ELU, ReLU, and ReLU with batch normalisation, in float32."""
    from elu_zoo.benchmark import step

    rows = []
    for case in scope.cases():
        forms = {
            name: step.ours(dataclasses.replace(case, **network), "float32")
            for name, network in _NETWORKS.items()
        }
        rows += _time_steps("unit", scope, case, forms, "relu", ", float32")
    return rows


def replicas(scope: Scope) -> list[Row]:
    """Our step and Keras' fit on two logical CPU devices, or on one of all cores."""
    import tensorflow as tf

    from elu_zoo.benchmark import step
    from elu_zoo.training.step import devices

    tf.config.set_visible_devices([], "GPU")
    devices.create_strategy("mirrored", 2)  # impossible after TensorFlow starts
    rows = []
    for case in scope.cases():
        forms: dict = {"two devices": step.ours(case, devices=2), "one device": step.ours(case)}
        if case.is_convolutional:
            forms["two devices, float32"] = step.ours(case, "float32", devices=2)
        forms["Keras fit, one device"] = step.keras_fit(case)
        for how, arguments in step.fit_arguments(case).items():
            if how != "jit_compile":  # fails under MirroredStrategy, in Keras 3.15
                name = "Keras fit, two devices" + f", {how}" * (how != "default")
                forms[name] = step.keras_fit(case, devices=2, **arguments)
        rows += _time_steps("replicas", scope, case, forms, "two devices")
    return rows


def inference(scope: Scope) -> list[Row]:
    """Predictions: our SavedModel, Keras, LiteRT, ONNX Runtime."""
    from elu_zoo.benchmark import inference

    rows = []
    for name, size in itertools.product(scope.models, _BATCHES):
        with tempfile.TemporaryDirectory() as folder:
            forms = inference.forms(name, size, Path(folder))
            seconds = time_interleaved(forms, 15, scope.rounds)
        rows += report.timed("inference", f"{name}, batch of {size}", seconds, inference.BASELINE)
    return rows


def serving(scope: Scope) -> list[Row]:
    """Our server with or without batching, gRPC or REST, and 1, 8 or 32 clients."""
    from elu_zoo.benchmark import serving

    rows = []
    for name in scope.models:
        with tempfile.TemporaryDirectory() as folder:
            rows += serving.measure(name, scope.rounds or 15, Path(folder))
    return rows


PARTS: dict[str, Callable[[Scope], list[Row]]] = {
    part.__name__: part for part in (op, fit, step, unit, replicas, inference, serving)
}
ON_JAX = ("step", "unit")


def measure(part: str, scope: Scope) -> list[Row]:
    """Returns the rows of a part, measured in a new process."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context, quiet.follow) as pool:
        try:
            return pool.submit(PARTS[part], scope).result()
        except BrokenProcessPool:
            raise errors.ResourceError(
                f"The process of the part {part} was killed, probably because memory "
                "ran out. Set fewer --models, or a smaller --batch_size."
            ) from None


def check(names: Sequence[str], batch_size: int | None, backend: str) -> None:
    """Checks the names of parts and the batch size."""
    for name in names:
        errors.check_choice("part", name, PARTS)
        if backend != "tensorflow" and name not in ON_JAX:
            raise errors.UsageError(
                f"The part {name} needs KERAS_BACKEND=tensorflow. Received: {backend}. "
                f"Use --parts={','.join(ON_JAX)}."
            )
    if "replicas" in names and (batch_size or 2) % 2:
        raise errors.UsageError(
            "--batch_size must be even, because the part replicas halves each batch. "
            f"Received: {batch_size}. Set an even size or remove replicas from --parts."
        )
    if "serving" in names:
        part = "The part serving of --parts"
        errors.check_packages(part, ["tensorflow_serving"], "serving")
