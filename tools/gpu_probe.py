"""Times training steps on a GPU with JAX.

python tools/gpu_queue.py with KIT python tools/gpu_probe.py steps OUTPUT
    Times a step of three networks in two precisions, and PyTorch's of elu_cifar_11.
python tools/gpu_probe.py rows OUTPUT --machine="NVIDIA H100; jax 0.11.2"
    Adds the speeds of OUTPUT to the part `gpu` of configs/results/benchmark.csv.
"""

import argparse
import collections
import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path

import gpu_queue
import numpy as np

SECONDS = 3.0  # of a timing
# Groups of forms that fit into a card's memory together, by network, batch and steps a call.
_NETWORKS = {"elu_cifar_11": (100, 100), "elu_cifar_18": (100, 100), "elu_imagenet_15": (256, 20)}
_RELU = {"activation": "relu"}
_UNITS = {"ELU": {}, "ReLU": _RELU, "ReLU + BN": {**_RELU, "batch_norm": True}}
_PRECISIONS = "bfloat16_conv", "float32"
STEPS = [
    {
        f"{model}, {unit}, {precision}": {
            "case": {"model": model, "batch_size": batch, "steps": steps, **changes},
            "precision": precision,
        }
        for unit, changes in _UNITS.items()
    }
    for model, (batch, steps) in _NETWORKS.items()
    for precision in _PRECISIONS
]
for _activation in "elu", "relu":
    STEPS[0][f"elu_cifar_11, {_activation}, torch.compile, bfloat16"] = {
        "case": {"model": "elu_cifar_11", "activation": _activation, "steps": 100},
        "torch": True,
    }


def serve(form: dict) -> None:
    """Compiles a training step on noise, then runs it for the seconds of each input line."""
    from elu_zoo.benchmark import step
    from elu_zoo.benchmark.case import Case

    case = Case(**form["case"])
    is_torch = "torch" in form
    call = step.pytorch(case, True, "cuda") if is_torch else step.ours(case, form["precision"])
    call()
    print("ready", flush=True)
    for line in sys.stdin:
        end, calls, start = time.time() + float(line), 0, time.time()
        while time.time() < end:
            call()
            calls += 1
        print(calls * case.batch_size * case.steps / (time.time() - start), flush=True)


def _start(form: dict) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, __file__, "serve", json.dumps(form)],
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


def _speed(process: subprocess.Popen) -> float:
    process.stdin.write(f"{SECONDS}\n")
    process.stdin.flush()
    return float(_read(process) or "nan")


def compile_all(forms: dict[str, dict]) -> dict[str, subprocess.Popen]:
    """Returns a process for each form, which are compiled at the same time."""
    started = {name: _start(form) for name, form in forms.items()}
    return {name: process for name, process in started.items() if _read(process) == "ready"}


def time_in_turn(ready: dict[str, subprocess.Popen], output: Path) -> None:
    for name in [*ready, *ready]:  # twice, to see the noise
        write(output, form=name, images_per_second=_speed(ready[name]))
    for process in ready.values():
        process.kill()


def store(file: Path, machine: str) -> None:
    """Adds the speeds of a file to the benchmark's rows, with all measurements."""
    from elu_zoo.benchmark import report

    table, speeds = gpu_queue.RESULTS / "benchmark.csv", collections.defaultdict(list)
    for row in (json.loads(x) for x in file.read_text().splitlines() if "NaN" not in x):
        speeds[row["form"]].append(row["images_per_second"])
    rows = [row for row in report.read(table) if row.part == "gpu" and row.form not in speeds]
    for form, values in speeds.items():
        new = report.rows("gpu", "one process", {form: np.array(values)}, form, "images/s")
        rows += [dataclasses.replace(row, machine=machine) for row in new]
    report.update(table, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("verb", choices=["steps", "rows", "serve"])
    parser.add_argument("argument", nargs="?", help="a file; for serve, a form")
    parser.add_argument("--machine", default="")
    given = parser.parse_args()
    file = Path(given.argument or "")
    if given.verb == "serve":
        serve(json.loads(given.argument))
    elif given.verb == "rows":
        store(file, given.machine)
    else:
        for forms in STEPS:
            time_in_turn(compile_all(forms), file)


if __name__ == "__main__":
    main()
