"""Checks and times training steps on a GPU with JAX, above all of elu_cifar_11.

python tools/gpu_probe.py losses FILE
    Writes the first losses of the paper's schedule, on any machine.
python tools/gpu_probe.py time FILE OUTPUT
    Compares bias gradients in bfloat16 with float32, and the losses with FILE. Times
    forms of the step in turn, then the form "all" in several processes at once, with
    NVIDIA's MPS and without.
python tools/gpu_probe.py steps OUTPUT
    Times a step of three networks in two precisions, and PyTorch's of elu_cifar_11.
python tools/gpu_probe.py rows OUTPUT --machine="NVIDIA H100; jax 0.11.2"
    Replaces the part `gpu` of configs/results/benchmark.csv by the speeds of OUTPUT.

Run `time` and `steps` by `python tools/gpu_queue.py with`.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import gpu_queue

COUNT = 50  # losses that are compared
SECONDS = 6.0  # of a timing
PROCESSES = 1, 4, 8  # of the form "all" at once
FORMS = {
    "all": {},
    "all, no command buffers": {"flags": "--xla_gpu_enable_command_buffer="},
    "all, ReLU": {"activation": "relu"},
    "all, float32": {"precision": "float32"},
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
    place = backends.choose_devices(False, "one", None)
    resolved = resolve(config)
    data = load.load(config.data.name)
    run = builder.build(resolved, data, place, ("auto", form.get("steps"), 1))
    return run, TrainState()


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
    own = losses({})
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
    draws = np.random.default_rng(0).integers(0, [9, 9, 2], (steps, 100, 3), "int32")
    batches = np.random.default_rng(0).integers(0, 10_000, (steps, 100))
    arguments = batches, np.full(steps, 1e-3, "float32"), 0, draws
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


def write(output: Path, **row) -> None:
    """Adds a row to the output as soon as it is known."""
    with output.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)


def _speed(group: list[subprocess.Popen]) -> float:
    for process in group:
        process.stdin.write(f"{SECONDS}\n")
        process.stdin.flush()
    return sum(float(_read(process) or "nan") for process in group)


def compile_all(forms: dict[str, dict]) -> dict[str, subprocess.Popen]:
    """Returns a process for each form, which are compiled at the same time."""
    started = {name: _start(form) for name, form in forms.items()}
    return {name: process for name, process in started.items() if _read(process) == "ready"}


def time_in_turn(ready: dict[str, subprocess.Popen], output: Path) -> None:
    for name in [*ready, *ready]:  # twice, to see the noise
        write(output, form=name, images_per_second=_speed([ready[name]]))
    for process in ready.values():
        process.kill()


def time_together(output: Path, **mps: str) -> None:
    """Times several processes of the form "all" at once."""
    group = [_start(FORMS["all"], **mps) for _ in range(max(PROCESSES))]
    if all([_read(process) == "ready" for process in group]):
        for count in PROCESSES:
            speed = _speed(group[:count])
            write(output, processes=count, mps=bool(mps), images_per_second=speed)
    for process in group:
        process.kill()


def time_all(file: Path, output: Path) -> None:
    """Writes a row of checks, a row for each form, and for each number of processes."""
    command = [sys.executable, __file__, "check", str(file)]
    checked = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    ready = compile_all(FORMS)
    lines = checked.communicate()[0].splitlines()
    write(output, check="failed" if checked.returncode else json.loads(lines[-1]))
    time_in_turn(ready, output)
    time_together(output)
    with gpu_queue.mps(dict(os.environ)) as environment:
        if mps := {k: v for k, v in environment.items() if "CUDA_MPS" in k}:
            time_together(output, **mps)


def store(file: Path, machine: str) -> None:
    """Writes the speeds of a file to the benchmark's rows, with all measurements."""
    import numpy as np

    from elu_zoo.benchmark import report

    speeds: dict[tuple[str, str], list[float]] = {}
    for row in map(json.loads, file.read_text().splitlines()):
        if "form" in row:
            key = "one process", row["form"]
        elif "processes" in row:
            count = row["processes"]
            key = "all together", f"{count} process{'es' * (count > 1)}{', MPS' * row['mps']}"
        else:
            continue
        speeds.setdefault(key, []).append(row["images_per_second"])
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
    parser.add_argument("output", nargs="?", type=Path)
    parser.add_argument("--machine", default="")
    given = parser.parse_args()
    file = Path(given.argument)
    if given.verb == "losses":
        rows = {p: losses({"precision": p}) for p in ("bfloat16_conv", "float32")}
        file.write_text(json.dumps(rows))
    elif given.verb == "check":
        print(json.dumps(check(file)))
    elif given.verb == "serve":
        serve(json.loads(given.argument))
    elif given.verb == "rows":
        store(file, given.machine)
    elif given.verb == "steps":
        for forms in STEPS:
            time_in_turn(compile_all(forms), file)
    else:
        time_all(file, given.output)


if __name__ == "__main__":
    main()
