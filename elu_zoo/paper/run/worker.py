"""Worker process: trains runs; imports what is slow only when the first run begins."""

import contextlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

from elu_zoo import quiet

_stopped: list[str] = []  # why this process starts no other run
_idle = threading.Event()


def start(named: Sequence[str], workdir: Path) -> None:
    """Prepares a worker before TensorFlow is imported.

    Args:
        named: activations as `own_activations.register` takes them.
        workdir: what the process prints is written to `logs/` in it.
    """
    # Ctrl-C reaches only the parent, which sends SIGTERM to its workers.
    os.setpgrp()
    # The default handler would end an idle worker, and with it the whole pool.
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
    """Trains or resumes a run and returns its rows.

    Args:
        trial: `Trial`.
        plan: `Plan`.
        measure: see `runner.run`.

    Returns:
        The rows; if the run diverged, the reason as a string.
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

    if _stopped:  # the pool had queued this run before the signal
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
    """Handles SIGTERM outside of training, which has another handler."""
    from elu_zoo import errors

    _stopped.append("SIGTERM before or after training")
    if not _idle.is_set():
        raise errors.Interrupted(_stopped[0])


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os.kill(os.getpid(), signal.SIGTERM)
    _idle.wait()
    os._exit(1)
