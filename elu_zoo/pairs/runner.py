"""Trains the runs of experiments in worker processes and resumes interrupted runs."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from elu_zoo import errors
from elu_zoo.pairs import worker
from elu_zoo.pairs.spec import Plan, Trial

Row = dict[str, Any]
Measure = Callable[[Trial, Path, Plan], list[Any]]
_BYTES_PER_JOB = 4 << 30
_MAX_CRASHES = 2  # without a run that ended between them
SHARED_GPU = {"TF_FORCE_GPU_ALLOW_GROWTH": "true", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
RUNS_PER_PROCESS = 4  # each finished run leaves 300 MB of compiled functions


def default_jobs() -> int:
    """Returns 1 with a GPU, else the number of cores that have 4 GiB of memory each."""
    if Path("/proc/driver/nvidia/version").exists():
        return 1
    cores = len(os.sched_getaffinity(0))
    match = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return max(1, min(cores, int(match[1]) * 1024 // _BYTES_PER_JOB))


def run(
    trials: Sequence[Trial], plan: Plan, measure: Measure, jobs: int
) -> Iterator[tuple[Trial, list[Any] | str]]:
    """Trains or resumes runs; yields each with its rows, or the reason why it diverged.

    Args:
        measure: module-level function that receives the spec of a finished run, the
            folder of the run and the plan, and returns rows.
        jobs: number of worker processes, which share the cores.
    """
    waiting, crashes = list(trials), 0
    with threads(jobs), _forward_signals() as stopped:
        while waiting:
            if stopped:
                raise _interrupted(stopped)
            # Each pool trains a few runs, because a pool with max_tasks_per_child may
            # wait forever.
            batch = waiting[: jobs * RUNS_PER_PROCESS]
            try:
                for trial, rows in _run_pool(batch, plan, measure, jobs, stopped):
                    waiting.remove(trial)
                    crashes = 0
                    yield trial, rows
            except (BrokenProcessPool, errors.Interrupted):
                if stopped:
                    raise _interrupted(stopped) from None
                # The cause of one crash may be temporary: new workers resume the runs.
                crashes += 1
                if crashes == _MAX_CRASHES:
                    raise errors.ResourceError(
                        f"Worker processes crashed {_MAX_CRASHES} times before any run "
                        "ended, perhaps for lack of memory. Run the same command again "
                        "with a lower --jobs; it repeats no finished run."
                    ) from None
        if stopped:  # after the last run
            raise _interrupted(stopped)


def _run_pool(
    trials: Sequence[Trial], plan: Plan, measure: Measure, jobs: int, stopped: list[int]
) -> Iterator[tuple[Trial, list[Row] | str]]:
    pool = concurrent.futures.ProcessPoolExecutor(
        min(jobs, len(trials)), worker.Context(), initializer=worker.start, initargs=(plan.workdir,)
    )
    try:
        # Workers inherit the mask, because SIGTERM would end a worker without a handler.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            futures = {pool.submit(worker.perform, t, plan, measure): t for t in trials}
            pool.submit(int)  # else the pool may not notice a crash of its last worker
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if stopped:  # the signal may have come before all workers existed
            raise _interrupted(stopped)
        for future in concurrent.futures.as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        # The other runs could take hours, so they stop and save before the error.
        stop_children()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def threads(jobs: int) -> Iterator[None]:
    """Sets the number of threads of new workers, and lets the workers share a GPU.

    The settings are environment variables, because a worker may import TensorFlow
    before it runs any code of this package. Variables that the user has set stay.
    """
    count = str(max(1, len(os.sched_getaffinity(0)) // jobs))
    variables = dict.fromkeys(("TF_NUM_INTRAOP_THREADS", "OPENBLAS_NUM_THREADS"), count)
    variables |= SHARED_GPU
    new = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            del os.environ[name]


def _interrupted(stopped: Sequence[int]) -> errors.Interrupted:
    return errors.Interrupted(
        f"{signal.Signals(stopped[0]).name}: all runs stopped. Run the same command "
        "again: it repeats no finished run, and resumes runs that have a checkpoint."
    )


@contextlib.contextmanager
def _forward_signals() -> Iterator[list[int]]:
    """Sends SIGTERM to the workers at SIGTERM or SIGINT; yields the received signals."""
    received: list[int] = []

    def stop(number, _frame) -> None:
        received.append(number)
        stop_children()

    previous = {s: signal.signal(s, stop) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def stop_children() -> None:
    """Sends SIGTERM to the processes that this process started."""
    for child in multiprocessing.active_children():
        child.terminate()
