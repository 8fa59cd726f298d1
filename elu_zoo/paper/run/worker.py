"""A process that trains: imports what takes long, and what writes, only when asked."""

import contextlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

from elu_zoo import quiet

_stopped: list[str] = []  # why this process begins no other run
_idle = threading.Event()


def start(named: Sequence[str], workdir: Path) -> None:
    """Prepares a process before anything imports TensorFlow.

    Args:
        named: activations as `own_activations.register` takes them.
        workdir: gets what the process prints, in `logs/`.
    """
    # Ctrl-C reaches the parent alone, which tells its children.
    os.setpgrp()
    # A process that ended while it waits would end the runs of the others.
    signal.signal(signal.SIGTERM, _stop)
    _idle.set()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    log = workdir / "logs" / f"{os.getpid()}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    quiet.follow()
    if named:
        from elu_zoo.paper.run import own_activations

        own_activations.register(named)


def perform(trial, plan, measure):
    """Trains a trial, or resumes it, and returns what is measured of it.

    Args:
        trial: a `Trial`.
        plan: a `Plan`.
        measure: see `runner.run`.

    Returns:
        Rows; of a run that diverged the reason, a string.
    """
    _idle.clear()
    try:
        return _perform(trial, plan, measure)
    finally:
        _idle.set()


def _perform(trial, plan, measure):
    import keras

    from elu_zoo import errors, files, training
    from elu_zoo.training import recorder

    if _stopped:  # this one has been handed out before the signal came
        raise errors.Interrupted(_stopped[0])
    workdir = trial.folder(plan)
    diverged = workdir / "diverged.json"
    with contextlib.suppress(FileNotFoundError):
        return json.loads(diverged.read_text())["reason"]
    keras.backend.clear_session()
    config = trial.load()
    try:
        training.train(
            config,
            workdir,
            data_dir=plan.data_dir,
            observe=trial.observe,
            command=trial.command,
        )
    except errors.Interrupted as error:
        _stopped.append(str(error))
        raise
    except errors.TrainingError as error:
        files.write_json(diverged, {"reason": str(error)})
        return str(error)
    recorder.check_kept(workdir, trial.observe)
    return measure(trial, workdir, plan)


def _stop(_number, _frame) -> None:
    """Ends what is no training, which has a handler of its own."""
    from elu_zoo import errors

    _stopped.append("SIGTERM before a run, or after it")
    if not _idle.is_set():
        raise errors.Interrupted(_stopped[0])


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os.kill(os.getpid(), signal.SIGTERM)
    _idle.wait()
    os._exit(1)
