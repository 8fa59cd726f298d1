"""Worker process that trains runs. Slow modules are imported with the first run."""

import contextlib
import multiprocessing.connection
import os
import re
import signal
import threading
import time
from pathlib import Path

from elu_zoo import errors, quiet

_stopped: list[str] = []  # reasons why this process starts no further run
_idle = threading.Event()  # set while this process trains no run
_busy = False  # whether SIGTERM interrupts `perform`; never while it sets `_idle`


class Process(multiprocessing.get_context("spawn").Process):
    """Process that receives SIGTERM once, because a second one would stop the saving.

    A pool with a crashed worker terminates the others, from Python 3.12 on twice.
    """

    _terminated = False

    def terminate(self) -> None:
        if not self._terminated:
            self._terminated = True
            super().terminate()


class Context(multiprocessing.context.SpawnContext):
    """Context in which a pool starts processes of the class `Process`."""

    Process = Process


def start(workdir: Path) -> None:
    """Prepares a worker process, whose output is written to the folder `logs`."""
    # In a group of its own: Ctrl-C reaches the parent alone, which sends SIGTERM.
    os.setpgrp()
    signal.signal(signal.SIGTERM, _stop)
    # Each signal writes a byte, also one that training handles or receives too late.
    received, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written)
    _idle.set()
    threading.Thread(target=_end_after_signal, args=(received,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # blocked by the parent
    log = workdir / "logs" / f"{os.getpid()}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    quiet.follow()


def warnings(workdir: Path, begin: float) -> list[str]:
    """Returns the different warnings in output of workers since a time in Unix seconds."""
    logs = [x for x in sorted((workdir / "logs").iterdir()) if x.stat().st_mtime >= begin]
    text = "\n".join(log.read_text(errors="replace") for log in logs)
    return list(dict.fromkeys(re.findall("^warning: (.*)", text, re.MULTILINE)))


def perform(trial, plan, measure):
    """Trains or resumes a run; returns its rows, or the reason why it diverged."""
    global _busy
    try:
        _busy = True
        _idle.clear()
        if _stopped:  # the pool queued this run before the signal arrived
            raise errors.Interrupted(_stopped[0])
        return _perform(trial, plan, measure)
    finally:
        _busy = False
        _idle.set()


def _perform(trial, plan, measure):
    import keras

    from elu_zoo import files, training, user_module
    from elu_zoo.pairs import spec

    workdir = trial.folder(plan)
    diverged = workdir / "diverged.json"
    with contextlib.suppress(FileNotFoundError):
        return files.read_json(diverged)["reason"]
    keras.backend.clear_session()
    if plan.module:
        user_module.load(plan.module)
    if trial.code and spec.code_hash(plan.module, trial.load().model) != trial.code:
        raise errors.UsageError(
            f"The code of {plan.module} was changed after the first run. Run the command again."
        )
    try:
        training.train(
            trial.load(),
            workdir,
            data_dir=plan.data_dir,
            observers=trial.observers,
            command=trial.command,
        )
    except errors.Interrupted as error:
        _stopped.append(str(error))
        raise
    except errors.TrainingError as error:
        files.write_json(diverged, {"reason": str(error)})
        return str(error)
    return measure(trial, workdir, plan)


def _stop(_number, _frame) -> None:
    """Handles SIGTERM before and after training, which installs its own handler."""
    _stopped.append("SIGTERM before or after training")
    if _busy:
        raise errors.Interrupted(_stopped[0])


def _end_after_signal(received: int) -> None:
    """Ends this process after SIGTERM or its parent's end, once its run has saved."""
    parent = multiprocessing.parent_process().sentinel
    if received not in multiprocessing.connection.wait([parent, received]):
        os.kill(os.getpid(), signal.SIGTERM)
    _stopped.append("SIGTERM")
    _idle.wait()
    time.sleep(1)  # the rows of a run may be on their way to the parent
    os._exit(1)
