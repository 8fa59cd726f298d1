"""Trains with equal seeds on one device, on two, on two machines and with JAX.

python tools/strategy_parity.py --folder=$HOME/parity

Writes configs/results/strategies.csv, with a row per run. The two devices are logical
devices of the CPU, the two machines are processes of this machine. A stopped run is
resumed, and a finished run is not repeated. Needs MNIST in $TFDS_DATA_DIR, and
elu-zoo[demo,jax].
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from absl import app, flags

from elu_zoo import errors, results
from elu_zoo.training import result

_ROOT = Path(__file__).resolve().parent.parent
CSV = _ROOT / "configs" / "results" / "strategies.csv"
COLUMNS = (
    "config epochs schedule_share seed strategy replicas backend train_loss test_loss "
    "test_error_percent wall_time_seconds commit hardware"
).split()
_FLAGS = {
    "one": (),
    "mirrored": ("--strategy=mirrored", "--num_devices=2"),
    "multi_worker": ("--strategy=multi_worker",),
    "jax": (),
}
_FOLDER = flags.DEFINE_string("folder", "runs/parity", "Folder of the runs' folders.")
_CONFIGS = flags.DEFINE_list("configs", ["quickstart", "mnist_mlp_8x128"], "Names of configs.")
_SEEDS = flags.DEFINE_integer("seeds", 3, "Number of seeds.", 1)
_EPOCHS = flags.DEFINE_integer(
    "epochs", 30, "Epochs of each run; the paper's MNIST networks have 300.", 1
)
_OUTPUT = flags.DEFINE_string("output_csv", str(CSV), "CSV file for the rows.")


def train(name: str, seed: int, how: str) -> dict[str, object]:
    """Returns the row of a run; `how` is a key of `_FLAGS`."""
    workdir = Path(_FOLDER.value).absolute() / f"{name}-{how}-s{seed}"
    command = [sys.executable, "-m", "elu_zoo.bin.train", *_FLAGS[how]]
    command += [f"--config={name}:seed={seed}", f"--workdir={workdir}"]
    command += [f"--config.train.epochs={_EPOCHS.value}"]
    backend = "jax" if how == "jax" else "tensorflow"
    environment = {**os.environ, "KERAS_BACKEND": backend}
    environment.pop("TF_CONFIG", None)
    tasks = _cluster() if how == "multi_worker" else [{}]
    processes = [subprocess.Popen(command, env=environment | task, cwd=_ROOT) for task in tasks]
    try:
        codes = [process.wait() for process in processes]
    finally:
        for process in processes:
            process.terminate()  # does nothing to a process that has ended
    if any(codes):
        raise errors.ResourceError(f"{workdir} ended with the exit codes {codes}.")
    entry = result.find(workdir)
    row = {**entry, **results.row(workdir, entry)}
    return {column: row[column] for column in COLUMNS}


def _cluster() -> list[dict[str, str]]:
    """Returns the environment variable TF_CONFIG of each of two processes."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        hosts = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    tasks = [{"type": "worker", "index": index} for index in range(2)]
    values = [{"cluster": {"worker": hosts}, "task": task} for task in tasks]
    return [{"TF_CONFIG": json.dumps(value)} for value in values]


def main(_: list[str]) -> None:
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))  # runs save and end
    rows = []
    for name in _CONFIGS.value:
        for seed in range(_SEEDS.value):
            for how in _FLAGS:
                rows.append(train(name, seed, how))
                print({key: rows[-1][key] for key in COLUMNS[:10]}, flush=True)
    results.write(Path(_OUTPUT.value), COLUMNS, rows)


if __name__ == "__main__":
    app.run(main)
