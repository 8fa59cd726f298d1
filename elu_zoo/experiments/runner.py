"""Runs the trials of experiments: resumed, in several processes, none of them twice."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from elu_zoo import errors
from elu_zoo.experiments import worker
from elu_zoo.experiments.trial import Plan, Trial

Row = dict[str, Any]
Measure = Callable[[Trial, Path, Plan], list[Row]]
_BYTES_A_JOB = 4 << 30
_TRIALS_A_PROCESS = 4  # programs of finished runs stay in memory, 300 MB each


def default_jobs() -> int:
    """Returns how many runs go on at once: one a core, if memory permits."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return max(1, min(cores, memory // _BYTES_A_JOB))


def run(
    trials: Sequence[Trial],
    plan: Plan,
    measure: Measure,
    jobs: int,
    named: Sequence[str] = (),
) -> Iterator[tuple[Trial, list[Row] | str]]:
    """Trains each trial, or resumes it, and yields it with what is measured of it.

    Args:
        trials: in the order in which they begin; they end in another.
        plan: says where runs are, and their data.
        measure: a function of a module, of a trial, its finished run's folder and the
            plan.
        jobs: runs at once, each in a process with its share of the cores.
        named: activations as `own_activations.register` takes them.

    Yields:
        The rows; of a run that diverged the reason, a string.

    Raises:
        Interrupted: SIGTERM or SIGINT came; runs under way are saved.
        ResourceError: a process died, as it does for want of memory.
    """
    if not trials:
        return
    cores = len(os.sched_getaffinity(0))
    pool = concurrent.futures.ProcessPoolExecutor(
        min(jobs, len(trials)),
        multiprocessing.get_context("spawn"),
        initializer=worker.start,
        initargs=(tuple(named), plan.workdir),
        max_tasks_per_child=_TRIALS_A_PROCESS,
    )
    with _threads(max(1, cores // jobs)), _stopping_children() as stopped:
        try:
            futures = {pool.submit(worker.perform, t, plan, measure): t for t in trials}
            for future in concurrent.futures.as_completed(futures):
                yield futures[future], future.result()
        except (BrokenProcessPool, errors.Interrupted):
            if stopped:
                raise errors.Interrupted(
                    f"{signal.Signals(stopped[0]).name}: runs under way are saved. "
                    "Run the same command again to go on."
                ) from None
            raise errors.ResourceError(
                "A process that trained died, perhaps for want of memory. What is "
                "finished is kept; the same command goes on. Take fewer --jobs."
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    """Gives processes that begin within it so many threads of TensorFlow's operations.

    TensorFlow reads it when it is imported, which may be before a process runs any
    code of ours.
    """
    name = "TF_NUM_INTRAOP_THREADS"
    before = os.environ.get(name)
    os.environ.setdefault(name, str(count))
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


@contextlib.contextmanager
def _stopping_children() -> Iterator[list[int]]:
    """Passes SIGTERM and SIGINT on as SIGTERM; yields a list with what came."""
    received: list[int] = []

    def stop(number, _frame) -> None:
        received.append(number)
        for child in multiprocessing.active_children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    previous = {s: signal.signal(s, stop) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
