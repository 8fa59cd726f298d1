"""Functions that replace runs in worker processes, and checks of the processes."""

import os
import time
from pathlib import Path

from elu_zoo.pairs.spec import Trial

CORES = len(os.sched_getaffinity(0))
THREADS = "TF_NUM_INTRAOP_THREADS"
DEADLINE = 300  # seconds; enough on a busy machine

OWN_ACTIVATION = """
import elu_zoo

@elu_zoo.register_activation
def third_power(x):
    return 0.1 * x**3 + 0.5 * x
"""
# A module that the workers import. It has a `measure`, and a stand-in for
# `worker.perform` whose `trial` is the name of a function of the module and a number.
WORKER_STAND_INS = '''
import json, os, signal, time
from elu_zoo import errors
from elu_zoo.pairs import worker
from elu_zoo.pairs.worker import start
from elu_zoo.training.record import signals


def measure(trial, workdir, plan):
    entry = json.loads((workdir / "outcome.json").read_text())
    print("measured", trial.label, flush=True)
    activation = entry["arguments"]["activation"]["name"]
    row = {"step": entry["step"], "activation": activation}
    return [row | {"threads": os.environ["TF_NUM_INTRAOP_THREADS"]}]


def perform(trial, plan, measure):
    worker._perform = _perform
    return worker.perform(trial, plan, measure)


def start_late(workdir):
    """Starts all workers but the first after a run has saved."""
    try:
        (workdir / "first").touch(exist_ok=False)
    except FileExistsError:
        _wait((workdir / "lasting2.saved").exists)
    start(workdir)


def _perform(trial, plan, measure):
    (plan.workdir / f"{trial}.begun").write_text(str(os.getpid()))
    return globals()[trial.rstrip("0123456789")](trial, plan)


def quick(trial, plan):
    return os.environ["TF_NUM_INTRAOP_THREADS"], os.getpgrp()


def meeting(trial, plan):
    """Ends when two meetings have begun."""
    _wait(lambda: len(list(plan.workdir.glob("meeting*.begun"))) > 1)


def dying(trial, plan):
    os.kill(os.getpid(), signal.SIGKILL)


def shaky(trial, plan):
    try:
        (plan.workdir / trial).touch(exist_ok=False)
    except FileExistsError:
        return
    dying(trial, plan)


def crashing(trial, plan):
    _wait((plan.workdir / "lasting1.under_way").exists)
    dying(trial, plan)


def failing(trial, plan):
    _wait((plan.workdir / "lasting1.under_way").exists)
    raise errors.DataError(f"no images for {trial}")


def lasting(trial, plan):
    """Like training, runs until a signal arrives, and then takes a moment to save."""
    with signals.stop_requested() as stopped:
        (plan.workdir / f"{trial}.under_way").write_text("now")
        _wait(stopped)
        time.sleep(0.5 * int(trial[-1]))
        (plan.workdir / f"{trial}.saved").touch()
    raise errors.Interrupted(f"{trial} is saved")


def _wait(condition):
    deadline = time.monotonic() + 100
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)
'''
# A script that starts a worker, and kills itself when the worker has written a file.
PARENT = """
import concurrent.futures, multiprocessing, os, signal, sys, time
from pathlib import Path
from elu_zoo.pairs import worker


def train(workdir):
    import types, worker_stand_ins
    worker_stand_ins.perform("lasting1", types.SimpleNamespace(workdir=workdir), None)


if __name__ == "__main__":
    workdir, what, awaited = Path(sys.argv[1]), globals().get(sys.argv[2]), sys.argv[3]
    pool = concurrent.futures.ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"), worker.start, (workdir,)
    )
    pool.submit(*((train, workdir) if what else (os.write, 1, b"now")))
    while not any(p.stat().st_size for p in workdir.glob(awaited)):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def trial_of(activation, **changes):
    """Returns the spec of a run, which has two iterations by default."""
    entries = {"train.epochs": 1, "data.train_examples": 128}
    entries |= {key.replace("__", "."): value for key, value in changes.items()}
    arguments = ("quickstart", "", "smoke", activation, 0)
    return Trial(*arguments, changes=tuple(entries.items()))


ELU, OWN = trial_of("elu"), trial_of("third_power")
DIVERGING = trial_of("relu", train__learning_rates=(1e30,))


def wait_until(condition, seconds=DEADLINE):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def processes(workdir):
    """Returns the process ids of all workers that wrote logs."""
    return {int(path.stem) for path in (workdir / "logs").iterdir()}


def is_alive(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
