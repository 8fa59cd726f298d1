"""Parts of the benchmark: functions that measure, and return their results as rows."""

import concurrent.futures
import dataclasses
import importlib.util
import itertools
import multiprocessing
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np

from elu_zoo import errors, quiet, registry
from elu_zoo.benchmark import limit, report
from elu_zoo.benchmark.case import Case
from elu_zoo.benchmark.report import Row
from elu_zoo.benchmark.rounds import Extent, time_interleaved

_BATCHES = 1, 64  # images per prediction
_NETWORKS = {
    "elu": {"activation": "elu"},
    "relu": {"activation": "relu"},
    "relu, batch norm": {"activation": "relu", "batch_norm": True},
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of all parts.

    Attributes:
        models: names of networks.
        batch_size: images per training step; None for the paper's batch sizes.
        rounds: rounds of all parts; None for as many as their time allows.
    """

    models: Sequence[str]
    batch_size: int | None = None
    rounds: int | None = None

    def extent(
        self, seconds: float, least: int = 15, most: int = 300, warm: bool = False
    ) -> Extent:
        """Returns an `Extent` with these limits; `rounds` replaces them if set."""
        if self.rounds:
            return Extent(0, self.rounds, self.rounds, warm)
        return Extent(seconds, least, most, warm)

    def cases(self) -> list[Case]:
        return [Case(name, batch_size=self.batch_size) for name in self.models]


def _time_steps(part: str, case: Case, forms: dict, baseline: str, extent: Extent) -> list[Row]:
    """Times functions that take training steps, see `step.steps`."""
    from elu_zoo.benchmark import step

    seconds = time_interleaved(forms, extent, step.steps(case, forms))
    return report.timed(part, _name(case), seconds, baseline)


def _name(case: Case) -> str:
    return f"{case.model}, batch of {case.batch_size}"


def op(settings: Settings) -> list[Row]:
    """The ELU op: eager, traced or compiled calls, their memory, and their errors."""
    from elu_zoo.benchmark import op

    rows = []
    for shape, call, kind in itertools.product(op.SHAPES, op.CALLS, op.PASSES):
        forms = op.forms(call, kind, op.SHAPES[shape])
        extent = settings.extent(10, least=40, most=100, warm=True)
        units = dict.fromkeys(forms, op.repeats(op.SHAPES[shape]))
        seconds = time_interleaved(forms, extent, units)
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


def fit(settings: Settings) -> list[Row]:
    """Keras' fit of a network with the activation "elu_xla", or with "elu"."""
    from elu_zoo.benchmark import step

    rows = []
    for case in settings.cases():
        forms = {
            (how, name): step.keras_fit(dataclasses.replace(case, activation=name), **arguments)
            for how, arguments in step.fit_arguments(case).items()
            for name in ("elu", "elu_xla")
        }
        extent = settings.extent(90 if case.is_convolutional else 50, least=8)
        units = dict.fromkeys(forms, case.steps * step.FIT_CALLS)
        seconds = time_interleaved(forms, extent, units)
        for how in step.fit_arguments(case):
            pair = {name: t for (by, name), t in seconds.items() if by == how}
            rows += report.timed("fit", f"{_name(case)}, {how}", pair, "elu")
    return rows


def step(settings: Settings) -> list[Row]:
    """A training step: ours, Keras' fit, PyTorch, JAX, and matrix products alone."""
    from elu_zoo.benchmark import step

    rows = []
    for case in settings.cases():
        forms, limits = step.forms(case), limit.forms()
        units = step.steps(case, forms)
        units |= dict.fromkeys(limits, limit.FLOP / case.flop)
        extent = settings.extent(120 if case.is_convolutional else 45)
        seconds = time_interleaved(forms | limits, extent, units)
        rows += report.timed("step", _name(case), seconds, step.BASELINE)
    return rows


def unit(settings: Settings) -> list[Row]:
    """Our training step with ELU, with ReLU, and with ReLU and batch normalisation."""
    from elu_zoo.benchmark import step

    rows = []
    for case in settings.cases():
        forms = {
            name: step.ours(dataclasses.replace(case, **network))
            for name, network in _NETWORKS.items()
        }
        extent = settings.extent(100 if case.is_convolutional else 30, least=40)
        rows += _time_steps("unit", case, forms, "relu", extent)
    return rows


def replicas(settings: Settings) -> list[Row]:
    """Our step and Keras' fit on two logical CPU devices, or on one of all cores."""
    from elu_zoo.benchmark import step
    from elu_zoo.training.step import devices

    devices.hide_gpus()
    devices.create_strategy("mirrored", 2)  # impossible after TensorFlow starts
    rows = []
    for case in settings.cases():
        forms = {
            "two devices": step.ours(case, devices=2),
            "one device": step.ours(case),
        }
        if case.is_convolutional:
            forms["two devices, float32"] = step.ours(case, "float32", devices=2)
        forms[f"{step.FIT}, one device"] = step.keras_fit(case)
        variants = step.fit_arguments(case)
        del variants["jit_compile"]  # fails under MirroredStrategy, in Keras 3.15
        for how, arguments in variants.items():
            name = f"{step.FIT}, two devices" + f", {how}" * (how != "default")
            forms[name] = step.keras_fit(case, devices=2, **arguments)
        extent = settings.extent(100 if case.is_convolutional else 50, least=10)
        rows += _time_steps("replicas", case, forms, "two devices", extent)
    return rows


def inference(settings: Settings) -> list[Row]:
    """Predictions: our SavedModel, Keras, LiteRT, ONNX Runtime."""
    from elu_zoo.benchmark import inference

    rows = []
    for name in settings.models:
        for size in _BATCHES:
            with tempfile.TemporaryDirectory() as folder:
                forms = inference.forms(name, size, Path(folder))
                seconds = time_interleaved(forms, settings.extent(15, least=20))
            case = f"{name}, batch of {size}"
            rows += report.timed("inference", case, seconds, inference.BASELINE)
    return rows


def serving(settings: Settings) -> list[Row]:
    """Our server with or without batching, gRPC or REST, and 1, 8 or 32 clients."""
    from elu_zoo.benchmark import serving

    rows = []
    for name in settings.models:
        with tempfile.TemporaryDirectory() as folder:
            rows += serving.measure(name, settings.rounds or 15, Path(folder))
    return rows


def host(settings: Settings) -> list[Row]:
    """1,000 iterations of elu_cifar_11 whose training step does nothing."""
    from elu_zoo.benchmark import host

    seconds = host.measure(settings.rounds or 15)
    return report.timed("host", "1,000 iterations", seconds, host.BASELINE)


PARTS: dict[str, Callable[[Settings], list[Row]]] = {
    part.__name__: part for part in (op, fit, step, unit, replicas, inference, serving, host)
}
ON_JAX = ("step", "unit", "host")


def measure(part: str, settings: Settings) -> list[Row]:
    """Returns the rows of a part, measured in a new process."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context, quiet.follow) as pool:
        try:
            return pool.submit(PARTS[part], settings).result()
        except BrokenProcessPool:
            raise errors.ResourceError(
                f"The process of the part {part} was killed, probably because memory "
                "ran out. Set fewer --models, or a smaller --batch_size."
            ) from None


def check(
    names: Sequence[str], models: Sequence[str], batch_size: int | None, backend: str
) -> None:
    """Checks the names of parts and models, and the batch size."""
    for name in names:
        if name not in PARTS:
            raise errors.unknown_name_error("part", name, PARTS)
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
    if "serving" in names and importlib.util.find_spec("tensorflow_serving") is None:
        raise errors.UsageError(
            "The part serving needs an extra. Run: pip install 'elu-zoo[serving]', or "
            "set --parts without serving."
        )
    for name in models:
        registry.entry(name)
