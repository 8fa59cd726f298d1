"""Checks and times training steps on a GPU with JAX, above all of elu_cifar_11.

python tools/gpu_probe.py losses FILE
    Writes the first losses of the paper's schedule, on any machine.
python tools/gpu_probe.py check FILE
    Compares bias gradients in bfloat16 with float32, and the losses with FILE.
python tools/gpu_probe.py time FILE OUTPUT [--seconds=6] [--processes=1,4,8]
    Does `check`, and times forms of the step one after the other, then the form "all"
    in several processes at once, also with NVIDIA's MPS if this machine has it. All
    forms are compiled first, at the same time.
python tools/gpu_probe.py steps OUTPUT [--seconds=6]
    Times a step of three networks in two precisions, and PyTorch's of elu_cifar_11.
python tools/gpu_probe.py rows FILE --machine="NVIDIA H100; jax 0.11.2"
    Replaces the part `gpu` of configs/results/benchmark.csv by the speeds of FILE, the
    output of `time` and `steps`, on this machine.

Run the others in the environment that tools/gpu_queue.py prepares.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gpu_queue

COUNT = 50  # losses that are compared
# Form: activation, pooling, ELU, whether the loop is static, and flags of XLA.
_NEW = {"pooling": "own", "elu": "own", "static": True}
_COMMANDS = "--xla_gpu_enable_command_buffer="
FORMS = {
    "as before": {"pooling": "Keras", "elu": "autodiff", "static": False},
    "own pooling": {"pooling": "own", "elu": "autodiff", "static": False},
    "own pooling, own ELU": {"pooling": "own", "elu": "own", "static": False},
    "all": _NEW,
    "all, no command buffers": {**_NEW, "flags": _COMMANDS},
    "all, more command buffers": {
        **_NEW,
        "flags": f"{_COMMANDS}FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,WHILE",
    },
    "all, ReLU": {**_NEW, "activation": "relu"},
    "all, float32": {**_NEW, "precision": "float32"},
}

# Groups of forms that fit into a card's memory together, by network and batch.
_NETWORKS = {"elu_cifar_11": 100, "elu_cifar_18": 100, "elu_imagenet_15": 256}
_UNITS = {"ELU": {}, "ReLU": {"activation": "relu"}}
_UNITS["ReLU + BN"] = {"activation": "relu", "batch_norm": True}
_PRECISIONS = "bfloat16_conv", "float32"
STEPS = [
    {
        f"{model}, {unit}, {precision}": {
            "case": {"model": model, "batch_size": batch, "steps": 20, **changes},
            "precision": precision,
        }
        for unit, changes in _UNITS.items()
    }
    for model, batch in _NETWORKS.items()
    for precision in _PRECISIONS
]
for _activation in "elu", "relu":
    STEPS[0][f"elu_cifar_11, {_activation}, torch.compile, bfloat16"] = {
        "case": {"model": "elu_cifar_11", "activation": _activation, "steps": 20},
        "torch": "cuda",
    }


def build(form: dict):
    """Returns the run of a form, built as the trainer builds it, and its state."""
    from elu_zoo.configs import elu_cifar_11
    from elu_zoo.data import load
    from elu_zoo.training import backends
    from elu_zoo.training import build as builder
    from elu_zoo.training.config import resolve
    from elu_zoo.training.record.checkpoint import TrainState

    config = elu_cifar_11.get_config(f"activation={form.get('activation', 'elu')}")
    config.data.train_examples = form.get("examples", 0)
    config.train.boundaries, config.train.learning_rates = (), (0.01,)
    config.train.precision = form.get("precision", config.train.precision)
    if form.get("elu") == "autodiff":
        from elu_zoo.activations import jax_elu

        jax_elu.elu = _elu_by_autodiff
    place = backends.choose_devices(False, "one", None)
    if form.get("pooling") == "Keras":
        place = dataclasses.replace(place, pooling=None)
    choose = place.choose_compilation

    def chosen(*arguments):
        return dataclasses.replace(choose(*arguments), static=form.get("static", False))

    place = dataclasses.replace(place, choose_compilation=chosen)
    resolved = resolve(config)
    data = load.load(config.data.name)
    run = builder.build(resolved, data, place, ("auto", form.get("steps"), 1))
    return run, TrainState()


def _elu_by_autodiff(x, alpha):
    import jax.numpy as jnp

    wide = x.astype(jnp.float32)
    negative = jnp.expm1(jnp.where(wide > 0, jnp.zeros_like(wide), wide))
    return jnp.where(wide > 0, wide, negative * alpha).astype(x.dtype)


def losses(form: dict) -> list[float]:
    """Returns the first losses of a run."""
    import numpy as np

    from elu_zoo.training import chunks

    run, state = build(form)
    values = []
    for chunk in chunks.remaining_chunks(run, state, lambda step: COUNT - step):
        if chunk.rest is not None:
            run.step.start(chunk.rest)
        if run.phases.enter(run.model, chunk.first):
            run.step.compile()
        arguments = chunk.batches, chunk.learning_rates, chunk.first, chunk.draws
        values += np.asarray(run.step.run(*arguments)).tolist()
        state.add(np.array(values[state.step :]))
        if len(values) >= COUNT:
            return values
    raise RuntimeError("the run is too short")


def check(file: Path) -> dict:
    """Returns errors of bias gradients and of the first losses."""
    import jax
    import numpy as np

    from elu_zoo import layers

    names, gradients = [], {}
    for precision in ("float32", "bfloat16_conv"):
        run, _ = build({"examples": 100, "precision": precision})
        step, batch = run.step, np.arange(100)
        state = [[v.value for v in group] for group in step._variables]
        images, labels = (array[batch] for array in step._data)
        gradient = jax.jit(jax.grad(step._penalised_loss, has_aux=True))
        with jax.default_matmul_precision("float32"), layers.keyed(0, batch):
            found, _ = gradient(*state[:2], images.astype("float32"), labels)
        names = [v.path for v in run.model.trainable_variables]
        gradients[precision] = [np.asarray(g, np.float64) for g in found]
    pairs = zip(*gradients.values(), strict=True)
    relative = [np.linalg.norm(b - a) / np.linalg.norm(a) for a, b in pairs]
    errors = {n: float(e) for n, e in zip(names, relative, strict=True)}
    rows = json.loads(file.read_text())
    own = losses({"pooling": "own", "elu": "own"})
    ratios = {
        name: [float(a / b - 1) for a, b in zip(own, values, strict=True)]
        for name, values in rows.items()
    }
    return {"gradients": errors, "losses": own, "losses_relative": ratios}


def serve(form: dict) -> None:
    """Compiles a form, then runs it for the seconds of each line of the input."""
    call, images = (_case if "case" in form else _form)(form)
    call()
    print("ready", flush=True)
    for line in sys.stdin:
        end, done, start = time.time() + float(line), 0, time.time()
        while time.time() < end:
            call()
            done += images
        print(done / (time.time() - start), flush=True)


def _case(form: dict):
    """Returns a function that trains on noise, and the images of a call."""
    from elu_zoo.benchmark import step
    from elu_zoo.benchmark.case import Case

    case = Case(**form["case"])
    images = case.batch_size * case.steps
    if "torch" in form:
        return step.pytorch(case, True, form["torch"]), images
    return step.ours(case, form["precision"]), images


def _form(form: dict):
    """Returns a function that runs a form of the trainer's step, and its images."""
    import numpy as np

    run, _ = build({"examples": 10_000, **form})
    steps = run.compilation.steps_per_call
    draws = np.random.default_rng(0).integers(0, 9, (steps, 100, 3), "int32") % [
        9,
        9,
        2,
    ]
    batches = np.random.default_rng(0).integers(0, 10_000, (steps, 100))
    arguments = batches, np.full(steps, 1e-3, "float32"), 0, draws.astype("int32")
    run.phases.enter(run.model, 0)
    # A GPU is ahead of the host until the losses are read.
    return lambda: np.asarray(run.step.run(*arguments)), batches.size


def _start(form: dict, **variables: str) -> subprocess.Popen:
    flags = " ".join(filter(None, [os.environ.get("XLA_FLAGS"), form.get("flags")]))
    return subprocess.Popen(
        [sys.executable, __file__, "serve", json.dumps(form)],
        env={**os.environ, "XLA_FLAGS": flags, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _read(process: subprocess.Popen) -> str:
    """Returns the next line that is "ready" or a number, or "" at the end."""
    for line in process.stdout:
        if line.strip() == "ready" or line[0].isdigit():
            return line.strip()
    return ""


class Timings:
    """Times processes, and writes the rows as they come."""

    def __init__(self, output: Path, seconds: float):
        self._output = output
        self._seconds = seconds

    def write(self, **row) -> None:
        with self._output.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)

    def in_turn(self, forms: dict[str, dict], before: Callable = lambda: None) -> None:
        """Compiles all forms at once, then times them in turn, twice."""
        begin = time.time()
        started = {name: _start(form) for name, form in forms.items()}
        before()
        ready = [name for name, p in started.items() if _read(p) == "ready"]
        failed = sorted({*started} - {*ready})
        self.write(compiled=round(time.time() - begin, 1), failed=failed)
        for name in [*ready, *ready]:  # twice, to see the noise
            self.write(form=name, images_per_second=self._speed([started[name]]))
        for process in started.values():
            process.kill()

    def together(self, counts: list[int], **mps: str) -> None:
        """Times several processes of the form "all" at once."""
        group = [_start(FORMS["all"], **mps) for _ in range(max(counts))]
        if all([_read(process) == "ready" for process in group]):
            for count in counts:
                speed = self._speed(group[:count])
                self.write(processes=count, mps=bool(mps), images_per_second=speed)
        for process in group:
            process.kill()

    def _speed(self, group: list[subprocess.Popen]) -> float:
        for process in group:
            process.stdin.write(f"{self._seconds}\n")
            process.stdin.flush()
        return sum(float(_read(process) or "nan") for process in group)


def time_all(file: Path, timings: Timings, processes: list[int]) -> None:
    """Writes a row of checks, a row for each form, and for each number of processes."""
    command = [sys.executable, __file__, "check", str(file)]
    checked = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def check_ended() -> None:
        lines = checked.communicate()[0].splitlines()
        ended = json.loads(lines[-1]) if checked.returncode == 0 else "failed"
        timings.write(check=ended)

    timings.in_turn(FORMS, check_ended)
    timings.together(processes)
    with gpu_queue.mps(dict(os.environ)) as environment:
        if mps := {k: v for k, v in environment.items() if "CUDA_MPS" in k}:
            timings.together(processes, **mps)


def store(file: Path, machine: str) -> None:
    """Writes the speeds of a file to the benchmark's rows, with all measurements."""
    import numpy as np

    from elu_zoo.benchmark import report

    speeds: dict[tuple[str, str], list[float]] = {}
    for row in map(json.loads, file.read_text().splitlines()):
        if "images_per_second" in row:
            case, form = "one process", row.get("form")
            if form is None:
                count, mps = row["processes"], ", MPS" * row["mps"]
                form = f"{count} process{'es' * (count > 1)}{mps}"
                case = "all together"
            speeds.setdefault((case, form), []).append(row["images_per_second"])
    rows = []
    for (case, form), values in speeds.items():
        arrays = {form: np.array(values)}
        rows += report.rows("gpu", case, arrays, form, "images/s")
    rows = [dataclasses.replace(row, machine=machine) for row in rows]
    report.update(gpu_queue.RESULTS / "benchmark.csv", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("verb", choices=["losses", "check", "time", "steps", "rows", "serve"])
    parser.add_argument("argument")
    parser.add_argument("output", nargs="?")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--processes", default="1,4,8")
    parser.add_argument("--machine", default="")
    given = parser.parse_args()
    if given.verb == "losses":
        rows = {p: losses({"precision": p}) for p in ("bfloat16_conv", "float32")}
        Path(given.argument).write_text(json.dumps(rows))
    elif given.verb == "check":
        print(json.dumps(check(Path(given.argument))))
    elif given.verb == "serve":
        serve(json.loads(given.argument))
    elif given.verb == "rows":
        store(Path(given.argument), given.machine)
    elif given.verb == "steps":
        for forms in STEPS:
            Timings(Path(given.argument), given.seconds).in_turn(forms)
    else:
        counts = [int(count) for count in given.processes.split(",")]
        timings = Timings(Path(given.output), given.seconds)
        time_all(Path(given.argument), timings, counts)


if __name__ == "__main__":
    main()
