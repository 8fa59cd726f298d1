"""Worker process that trains runs. Slow modules are imported with the first run."""

import contextlib
import multiprocessing
import os
import signal
import threading
from pathlib import Path

from elu_zoo import quiet

_stopped: list[str] = []  # reasons why this process starts no further run
_idle = threading.Event()  # set while this process trains no run


def start(workdir: Path) -> None:
    """Prepares a worker process, whose output is written to the folder `logs`."""
    # In its own process group a worker does not receive Ctrl-C. The parent does, and
    # sends SIGTERM to the workers.
    os.setpgrp()
    # The default handler would end an idle worker, which breaks the whole pool.
    signal.signal(signal.SIGTERM, _stop)
    _idle.set()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    log = workdir / "logs" / f"{os.getpid()}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    quiet.follow()


def perform(trial, plan, measure):
    """Trains or resumes a run; returns its rows, or the reason why it diverged."""
    _idle.clear()
    try:
        return _perform(trial, plan, measure)
    finally:
        _idle.set()


def _perform(trial, plan, measure):
    import keras

    from elu_zoo import errors, files, training, user_module

    if _stopped:  # the pool queued this run before the signal arrived
        raise errors.Interrupted(_stopped[0])
    workdir = trial.folder(plan)
    diverged = workdir / "diverged.json"
    with contextlib.suppress(FileNotFoundError):
        return files.read_json(diverged)["reason"]
    keras.backend.clear_session()
    if plan.module:
        user_module.load(plan.module)
    config = trial.load()
    try:
        training.train(
            config,
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
    from elu_zoo import errors

    _stopped.append("SIGTERM before or after training")
    if not _idle.is_set():
        raise errors.Interrupted(_stopped[0])


def _end_with_parent() -> None:
    """Ends this process when its parent ends, after a run in progress has saved."""
    multiprocessing.parent_process().join()
    os.kill(os.getpid(), signal.SIGTERM)
    _idle.wait()
    os._exit(1)
