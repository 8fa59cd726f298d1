"""Times training steps on a GPU with JAX, above all of elu_cifar_11.

python tools/gpu_probe.py time OUTPUT
    Times the trainer's step in several processes at once, with NVIDIA's MPS and without.
python tools/gpu_probe.py steps OUTPUT
    Times a step of three networks in two precisions, and PyTorch's of elu_cifar_11.
python tools/gpu_probe.py rows OUTPUT --machine="NVIDIA H100; jax 0.11.2"
    Replaces the part `gpu` of configs/results/benchmark.csv by the speeds of OUTPUT.

Run `time` (three minutes) and `steps` (ten) by `python tools/gpu_queue.py with`.
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
import numpy as np

SECONDS = 3.0  # of a timing
PROCESSES = 1, 4, 8  # at once
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


def serve(form: dict) -> None:
    """Compiles a form, then runs it for the seconds of each line of the input."""
    call, images = _case(form) if form else _trainer()
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


def _trainer():
    """Returns a function that runs the trainer's step, and its images."""
    from elu_zoo.configs import elu_cifar_11
    from elu_zoo.data import load
    from elu_zoo.training import backends, build
    from elu_zoo.training.config import resolve

    config = elu_cifar_11.get_config()
    config.data.train_examples = 10_000
    config.train.boundaries, config.train.learning_rates = (), (0.01,)
    place, data = backends.choose_devices(False, "one", None), load.load(config.data.name)
    run = build.build(resolve(config), data, place, ("auto", None, 1))
    steps = run.compilation.steps_per_call
    draws = np.random.default_rng(0).integers(0, [9, 9, 2], (steps, 100, 3), "int32")
    batches = np.random.default_rng(0).integers(0, 10_000, (steps, 100))
    arguments = batches, np.full(steps, 1e-3, "float32"), 0, draws
    run.phases.enter(run.model, 0)
    # A GPU is ahead of the host until the losses are read.
    return lambda: np.asarray(run.step.run(*arguments)), batches.size


def _start(form: dict, **variables: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, __file__, "serve", json.dumps(form)],
        env={**os.environ, **variables},
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


def time_together(output: Path) -> None:
    """Times several processes of the trainer's step at once."""
    with gpu_queue.mps(dict(os.environ)) as environment:
        mps = {k: v for k, v in environment.items() if "CUDA_MPS" in k}
        for variables in ({}, mps) if mps else ({},):
            group = [_start({}, **variables) for _ in range(max(PROCESSES))]
            if all([_read(process) == "ready" for process in group]):
                for count in PROCESSES:
                    speed, is_mps = _speed(group[:count]), bool(variables)
                    write(output, processes=count, mps=is_mps, images_per_second=speed)
            for process in group:
                process.kill()


def store(file: Path, machine: str) -> None:
    """Writes the speeds of a file to the benchmark's rows, with all measurements."""
    from elu_zoo.benchmark import report

    speeds: dict[tuple[str, str], list[float]] = {}
    for row in map(json.loads, file.read_text().splitlines()):
        key = "one process", row.get("form")
        if "processes" in row:
            count = row["processes"]
            key = "all together", f"{count} process{'es' * (count > 1)}{', MPS' * row['mps']}"
        speeds.setdefault(key, []).append(row["images_per_second"])
    rows = []
    for (case, form), values in speeds.items():
        rows += report.rows("gpu", case, {form: np.array(values)}, form, "images/s")
    rows = [dataclasses.replace(row, machine=machine) for row in rows]
    report.update(gpu_queue.RESULTS / "benchmark.csv", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("verb", choices=["time", "steps", "rows", "serve"])
    parser.add_argument("argument", nargs="?", help="a file; for serve, a form")
    parser.add_argument("--machine", default="")
    given = parser.parse_args()
    file = Path(given.argument or "")
    if given.verb == "serve":
        serve(json.loads(given.argument))
    elif given.verb == "rows":
        store(file, given.machine)
    elif given.verb == "steps":
        for forms in STEPS:
            time_in_turn(compile_all(forms), file)
    else:
        time_together(file)


if __name__ == "__main__":
    main()
