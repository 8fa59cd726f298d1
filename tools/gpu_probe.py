"""Checks and times the training step of elu_cifar_11 on a GPU with JAX.

python tools/gpu_probe.py losses FILE
    Writes the first losses of the paper's schedule, on any machine.
python tools/gpu_probe.py check FILE
    Compares bias gradients in bfloat16 with float32, and the losses with FILE.
python tools/gpu_probe.py time FILE OUTPUT [--seconds=6] [--processes=1,4,8]
    Does `check`, and times forms of the step one after the other, then the form "all"
    in several processes at once, also with NVIDIA's MPS if this machine has it. All
    forms are compiled first, at the same time.

Run it in the environment that tools/gpu_queue.py prepares. A row is a line of JSON.
"""

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

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


def build(form: dict):
    """Returns the run of a form, built as the trainer builds it, and its state."""
    from elu_zoo.configs import elu_cifar_11
    from elu_zoo.data import load
    from elu_zoo.training import backends
    from elu_zoo.training import build as builder
    from elu_zoo.training.config import resolve
    from elu_zoo.training.state import TrainState

    config = elu_cifar_11.get_config(f"activation={form.get('activation', 'elu')}")
    config.data.train_examples = form.get("examples", 0)
    config.train.boundaries, config.train.learning_rates = (), (0.01,)
    config.train.precision = form.get("precision", config.train.precision)
    if form.get("elu") == "autodiff":
        from elu_zoo.activations import jax_elu

        jax_elu.elu = _elu_by_autodiff
    place = backends.place(False, "one", None)
    if form.get("pooling") == "Keras":
        place = dataclasses.replace(place, pooling=None)
    choose = place.choose_compilation

    def chosen(*arguments):
        return dataclasses.replace(choose(*arguments), static=form.get("static", False))

    place = dataclasses.replace(place, choose_compilation=chosen)
    resolved = resolve(config)
    data = load.load(config.data.name)
    run = builder.build(resolved, data, place, ("auto", form.get("steps"), 1))
    return run, TrainState(resolved.values, "")


def _elu_by_autodiff(x, alpha):
    import jax.numpy as jnp

    wide = x.astype(jnp.float32)
    negative = jnp.expm1(jnp.where(wide > 0, jnp.zeros_like(wide), wide))
    return jnp.where(wide > 0, wide, negative * alpha).astype(x.dtype)


def losses(form: dict) -> list[float]:
    """Returns the first losses of a run."""
    import numpy as np

    from elu_zoo.training import calls

    run, state = build(form)
    values = []
    for call in calls.remaining_calls(run, state, lambda step: COUNT - step):
        if call.rest is not None:
            run.step.start(call.rest)
        if run.phases.enter(run.model, call.first):
            run.step.compile()
        arguments = call.batches, call.learning_rates, call.first, call.draws
        values += run.step.run(*arguments).tolist()
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
    np.asarray(run.step.run(*arguments))
    print("ready", flush=True)
    for line in sys.stdin:
        end, done, start = time.time() + float(line), 0, time.time()
        while time.time() < end:
            losses = run.step.run(*arguments)
            done += batches.size
            np.asarray(losses)  # waits for the device
        print(done / (time.time() - start), flush=True)


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


def time_forms(file: Path, output: Path, seconds: float, processes: list[int]) -> None:
    """Writes a row of checks, a row for each form, and for each number of processes."""

    def write(**row):
        with output.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)

    def time_processes(counts, **mps):
        group = [_start(FORMS["all"], **mps) for _ in range(max(counts))]
        if all(_read(process) == "ready" for process in group):
            for count in counts:
                speed = sum(speeds(group[:count]))
                write(processes=count, mps=bool(mps), images_per_second=speed)
        for process in group:
            process.kill()

    def speeds(group):
        for process in group:
            process.stdin.write(f"{seconds}\n")
            process.stdin.flush()
        return [float(_read(process) or "nan") for process in group]

    begin = time.time()
    command = [sys.executable, __file__, "check", str(file)]
    checked = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    started = {name: _start(form) for name, form in FORMS.items()}
    ready = {name: p for name, p in started.items() if _read(p) == "ready"}
    lines = checked.communicate()[0].splitlines()
    write(check=json.loads(lines[-1]) if checked.returncode == 0 else "failed")
    write(compiled=round(time.time() - begin, 1), failed=sorted({*started} - {*ready}))
    for name in [*ready, *ready]:  # twice, to see the noise
        write(form=name, images_per_second=speeds([ready[name]])[0])
    for process in started.values():
        process.kill()
    time_processes(processes)
    mps = {"CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps", "CUDA_MPS_LOG_DIRECTORY": "/tmp/mps"}
    control, environment = (
        shutil.which("nvidia-cuda-mps-control"),
        {**os.environ, **mps},
    )
    if control and subprocess.run([control, "-d"], env=environment).returncode == 0:
        time_processes(processes[-1:], **mps)
        subprocess.run([control], input="quit\n", text=True, env=environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("verb", choices=["losses", "check", "time", "serve"])
    parser.add_argument("argument")
    parser.add_argument("output", nargs="?")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--processes", default="1,4,8")
    given = parser.parse_args()
    if given.verb == "losses":
        rows = {p: losses({"precision": p}) for p in ("bfloat16_conv", "float32")}
        Path(given.argument).write_text(json.dumps(rows))
    elif given.verb == "check":
        print(json.dumps(check(Path(given.argument))))
    elif given.verb == "serve":
        serve(json.loads(given.argument))
    else:
        counts = [int(count) for count in given.processes.split(",")]
        files = Path(given.argument), Path(given.output)
        time_forms(*files, given.seconds, counts)


if __name__ == "__main__":
    main()
