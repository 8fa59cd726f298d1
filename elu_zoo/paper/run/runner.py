"""Trains the runs of experiments in worker processes, and resumes interrupted runs."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from elu_zoo import errors
from elu_zoo.paper.run import worker
from elu_zoo.paper.run.spec import Plan, Trial

Row = dict[str, Any]
Measure = Callable[[Trial, Path, Plan], list[Row]]
_BYTES_PER_JOB = 4 << 30
_MAX_CRASHES = 2
RUNS_PER_PROCESS = 4  # compiled programs of finished runs take 300 MB each


def default_jobs() -> int:
    """Returns the number of simultaneous runs: one per core if memory permits.

    On a machine with a GPU it is 1.
    """
    if Path("/proc/driver/nvidia/version").exists():
        return 1
    cores = len(os.sched_getaffinity(0))
    found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return max(1, min(cores, int(found[1]) * 1024 // _BYTES_PER_JOB))


def run(
    trials: Sequence[Trial],
    plan: Plan,
    measure: Measure,
    jobs: int,
    per_process: int | None = None,
) -> Iterator[tuple[Trial, list[Row] | str]]:
    """Trains or resumes runs, and yields each with its rows when it ends.

    Args:
        trials: specs, in the order in which the runs start.
        plan: where the runs and their data are.
        measure: module-level function that returns the rows of a finished run, given
            its spec, its folder and the plan.
        jobs: number of worker processes, which share the cores.
        per_process: runs of a worker process before a new one takes its place; None:
            `RUNS_PER_PROCESS`.

    Yields:
        The spec and its rows; if the run diverged, the reason as a string.

    Raises:
        Interrupted: SIGTERM or SIGINT arrived; unfinished runs are saved.
        ResourceError: workers crash repeatedly, for example without enough memory.
    """
    waiting, crashes = list(trials), 0
    told: set[int] = set()
    with threads(jobs), _stopping_children(told) as stopped:
        while waiting:
            if stopped:
                raise _interrupted(stopped)
            before = len(waiting)
            # A pool with max_tasks_per_child can wait for ever: use a new pool instead.
            some = waiting[: jobs * (per_process or RUNS_PER_PROCESS)]
            try:
                for trial, rows in _in_processes(some, plan, measure, jobs, told):
                    waiting.remove(trial)
                    yield trial, rows
            except (BrokenProcessPool, errors.Interrupted):
                if stopped:
                    raise _interrupted(stopped) from None
                # A crash may be an exception: the runs resume in new processes.
                crashes = crashes + 1 if len(waiting) == before else 1
                if crashes == _MAX_CRASHES:
                    raise errors.ResourceError(
                        f"Worker processes crashed {_MAX_CRASHES} times before any run "
                        "ended, perhaps without enough memory. Finished runs are kept. "
                        "Run the same command again with fewer --jobs."
                    ) from None


def _in_processes(
    trials: Sequence[Trial],
    plan: Plan,
    measure: Measure,
    jobs: int,
    told: set[int],
) -> Iterator[tuple[Trial, list[Row] | str]]:
    pool = concurrent.futures.ProcessPoolExecutor(
        min(jobs, len(trials)),
        multiprocessing.get_context("spawn"),
        initializer=worker.start,
        initargs=(plan.workdir,),
    )
    try:
        futures = {pool.submit(worker.perform, t, plan, measure): t for t in trials}
        for future in concurrent.futures.as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        # Other runs could take hours; they are saved and the error is raised now.
        _stop_children(told)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def threads(jobs: int) -> Iterator[None]:
    """Sets each new worker's number of threads, and lets workers share a GPU.

    These are environment variables because TensorFlow may be imported before a worker
    runs any code of this package.
    """
    count = max(1, len(os.sched_getaffinity(0)) // jobs)
    wanted = {"TF_NUM_INTRAOP_THREADS": str(count)}
    wanted["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    new = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            del os.environ[name]


def _interrupted(stopped: Sequence[int]) -> errors.Interrupted:
    return errors.Interrupted(
        f"{signal.Signals(stopped[0]).name}: unfinished runs are saved. "
        "Run the same command again to resume them."
    )


@contextlib.contextmanager
def _stopping_children(told: set[int]) -> Iterator[list[int]]:
    """Sends SIGTERM to workers at SIGTERM or SIGINT; yields the received signals."""
    received: list[int] = []

    def stop(number, _frame) -> None:
        received.append(number)
        _stop_children(told)

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    previous = {s: signal.signal(s, stop) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _stop_children(told: set[int]) -> None:
    """Sends SIGTERM to each worker once: a second one would stop it from saving."""
    for child in multiprocessing.active_children():
        if child.pid in told:
            continue
        told.add(child.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGTERM)
