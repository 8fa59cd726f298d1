"""The parts of the benchmark: what each measures, against what, and for how long."""

import concurrent.futures
import dataclasses
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
from elu_zoo.benchmark.rounds import Extent, interleaved

_SIZES = 1_000_000, 10_000_000
_BATCHES = 1, 64
_NETWORKS = {
    "elu": {"activation": "elu"},
    "relu": {"activation": "relu"},
    "relu, batch norm": {"activation": "relu", "batch_norm": True},
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the parts measure.

    Attributes:
        models: names of networks.
        batch_size: images a training step; None for the paper's.
        rounds: of every measurement; None for as many as its time allows.
    """

    models: Sequence[str]
    batch_size: int | None = None
    rounds: int | None = None

    def extent(
        self, seconds: float, least: int = 15, most: int = 300, warm: bool = False
    ) -> Extent:
        """Returns how long something is measured unless the rounds are given."""
        if self.rounds:
            return Extent(0, self.rounds, self.rounds, warm)
        return Extent(seconds, least, most, warm)

    def cases(self, **arguments: object) -> list[Case]:
        """Returns a case for each network."""
        return [
            Case(name, batch_size=self.batch_size, **arguments) for name in self.models
        ]


def op(settings: Settings) -> list[Row]:
    """The unit alone: ours, other libraries', and the copy that is its limit."""
    from elu_zoo.benchmark import op

    found = []
    for size in _SIZES:
        for kind in op.PASSES:
            extent = settings.extent(12, least=40, most=100, warm=True)
            seconds = interleaved(op.forms(size, kind), extent)
            case = f"{kind}, {size:.0e} elements".replace("e+0", "e")
            found += report.timed("op", case, seconds, op.BASELINE)
    largest = {
        name: np.array([op.largest_error(function)])
        for name, function in op.APPROXIMATIONS.items()
    }
    case = "float32 on [-20, 0]"
    return found + report.rows("op", case, largest, op.BASELINE, "largest error")


def step(settings: Settings) -> list[Row]:
    """A training step: ours, Keras' fit, PyTorch, JAX, and the products in it."""
    from elu_zoo.benchmark import step

    found = []
    for case in settings.cases():
        forms, limits = step.forms(case), limit.forms()
        units = {
            name: case.steps * (step.FIT_CALLS if name.startswith(step.FIT) else 1)
            for name in forms
        }
        units |= dict.fromkeys(limits, limit.FLOP / case.flop)
        long = case.is_convolutional
        extent = settings.extent(120 if long else 45)
        seconds = interleaved(forms | limits, extent, units)
        found += report.timed("step", _name(case), seconds, step.BASELINE)
    return found


def unit(settings: Settings) -> list[Row]:
    """Our training step with ELU, with ReLU, and with ReLU and batch normalisation."""
    from elu_zoo.benchmark import step

    found = []
    for case in settings.cases():
        cases = {k: dataclasses.replace(case, **v) for k, v in _NETWORKS.items()}
        forms = {name: step.ours(case) for name, case in cases.items()}
        units = dict.fromkeys(forms, case.steps)
        extent = settings.extent(100 if case.is_convolutional else 30, least=40)
        seconds = interleaved(forms, extent, units)
        found += report.timed("unit", _name(case), seconds, "relu")
    return found


def memory(settings: Settings) -> list[Row]:
    """What our training takes of memory, by the same three."""
    from elu_zoo.benchmark import memory

    found = []
    for case in settings.cases():
        cases = {k: dataclasses.replace(case, **v) for k, v in _NETWORKS.items()}
        values = {k: np.array([memory.mebibytes(c)]) for k, c in cases.items()}
        found += report.rows("memory", _name(case), values, "relu", "MiB")
    return found


def policy(settings: Settings) -> list[Row]:
    """Our training step, compiled and not, many steps in a call and one; the choice
    of the trainer's table is 1."""
    from elu_zoo.benchmark import step
    from elu_zoo.training import devices
    from elu_zoo.training.compilation import Compilation

    found = []
    for case in settings.cases():
        forms = {}
        chosen = devices.choose_compilation(case.create(), 1, "auto", None)
        for compiled, calls in ((True, 100), (True, 1), (False, 10), (False, 1)):
            wide = compiled and case.is_convolutional
            if wide and calls > 1:
                continue  # in a loop XLA's convolutions take minutes
            # Nor do they gain from bfloat16 on a CPU.
            name = _policy_name(compiled, calls)
            made = Compilation(compiled, calls)
            forms[name] = step.ours(case, "float32" if wide else None, made)
        units = dict.fromkeys(forms, case.steps)
        extent = settings.extent(60 if case.is_convolutional else 20)
        seconds = interleaved(forms, extent, units)
        baseline = _policy_name(chosen.compiled, chosen.steps_per_call)
        found += report.timed("policy", _name(case), seconds, baseline)
    return found


def _policy_name(compiled: bool, calls: int) -> str:
    return f"{'XLA' if compiled else 'plain'}, {calls} a call"


def replicas(settings: Settings) -> list[Row]:
    """Our training step on two logical CPU devices, and on one, of the same cores."""
    from elu_zoo.benchmark import step
    from elu_zoo.training import devices

    devices.hide_gpus()
    devices.create_strategy("mirrored", 2)  # before TensorFlow starts
    found = []
    for case in settings.cases():
        forms = {
            "two devices": step.ours(case, devices=2),
            "one device": step.ours(case),
        }
        units = dict.fromkeys(forms, case.steps)
        extent = settings.extent(25 if case.is_convolutional else 10, least=40)
        seconds = interleaved(forms, extent, units)
        found += report.timed("replicas", _name(case), seconds, "one device")
    return found


def inference(settings: Settings) -> list[Row]:
    """Predictions: our SavedModel, Keras in its forms, LiteRT, ONNX Runtime."""
    from elu_zoo.benchmark import inference

    found = []
    for name in settings.models:
        for size in _BATCHES:
            with tempfile.TemporaryDirectory() as folder:
                forms = inference.forms(name, size, Path(folder))
                seconds = interleaved(forms, settings.extent(15, least=20))
            case = f"{name}, batch of {size}"
            found += report.timed("inference", case, seconds, inference.BASELINE)
    return found


def serving(settings: Settings) -> list[Row]:
    """Our server, batching and not, over gRPC and REST, to 1, 8 and 32 clients."""
    from elu_zoo.benchmark import serving

    found = []
    for name in settings.models:
        with tempfile.TemporaryDirectory() as folder:
            found += serving.measure(name, settings.rounds or 15, Path(folder))
    return found


def start_up(settings: Settings) -> list[Row]:
    """From nothing to the first prediction."""
    from elu_zoo.benchmark import start_up

    extent = settings.extent(120, least=5, most=9)
    seconds = interleaved(start_up.forms(), extent)
    return report.timed("start_up", "a new process", seconds, start_up.BASELINE)


def _name(case: Case) -> str:
    return f"{case.model}, batch of {case.batch_size}"


PARTS: dict[str, Callable[[Settings], list[Row]]] = {
    part.__name__: part
    for part in (op, step, unit, memory, policy, replicas, inference, serving, start_up)
}
ON_JAX = ("step", "unit")


def measure(part: str, settings: Settings) -> list[Row]:
    """Returns what a part finds, in a process of its own.

    Args:
        part: of `PARTS`.
        settings: what it measures.

    Raises:
        ResourceError: the process was killed.
    """
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context, quiet.follow) as pool:
        try:
            return pool.submit(PARTS[part], settings).result()
        except BrokenProcessPool:
            raise errors.ResourceError(
                f"The process of the part {part} was killed, probably because memory "
                "ran out. Name fewer --models, or a smaller --batch_size."
            ) from None


def check(
    names: Sequence[str], models: Sequence[str], batch_size: int | None, backend: str
) -> None:
    """Checks what a user asked for.

    Raises:
        UsageError: an unknown part or model, a part that needs TensorFlow on another
            backend, or a batch that two devices cannot share.
    """
    for name in names:
        if name not in PARTS:
            raise errors.unknown("part", name, PARTS)
        if backend != "tensorflow" and name not in ON_JAX:
            raise errors.UsageError(
                f"The part {name} needs KERAS_BACKEND=tensorflow. Received: {backend}. "
                f"Use --parts={','.join(ON_JAX)}."
            )
    if "replicas" in names and (batch_size or 2) % 2:
        raise errors.UsageError(
            "The part replicas halves each batch: batch_size is even. Received: "
            f"{batch_size}. Leave out one of them."
        )
    for name in models:
        registry.entry(name)
