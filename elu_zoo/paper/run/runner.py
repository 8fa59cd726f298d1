"""Runs the trials of experiments: resumed, in several processes, none of them twice."""

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
_BYTES_A_JOB = 4 << 30
_DEATHS = 2
_TRIALS_A_PROCESS = 4  # programs of finished runs stay in memory, 300 MB each


def default_jobs() -> int:
    """Returns how many runs go on at once: one a core, if memory permits.

    With a GPU it is one.
    """
    if Path("/proc/driver/nvidia/version").exists():
        return 1
    cores = len(os.sched_getaffinity(0))
    found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return max(1, min(cores, int(found[1]) * 1024 // _BYTES_A_JOB))


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
        ResourceError: processes die, as they do for want of memory.
    """
    waiting, deaths = list(trials), 0
    told: set[int] = set()
    with _threads(jobs), _stopping_children(told) as stopped:
        while waiting:
            if stopped:
                raise _interrupted(stopped)
            before = len(waiting)
            # The pool's own limit of tasks can leave it waiting for ever.
            some = waiting[: jobs * _TRIALS_A_PROCESS]
            try:
                for trial, rows in _in_processes(
                    some, plan, measure, jobs, named, told
                ):
                    waiting.remove(trial)
                    yield trial, rows
            except (BrokenProcessPool, errors.Interrupted):
                if stopped:
                    raise _interrupted(stopped) from None
                # A crash need not come again: runs resume in new processes.
                deaths = deaths + 1 if len(waiting) == before else 1
                if deaths == _DEATHS:
                    raise errors.ResourceError(
                        f"{_DEATHS} times a process that trained died before any run "
                        "ended, perhaps for want of memory. What is finished is kept; "
                        "the same command goes on. Take fewer --jobs."
                    ) from None


def _in_processes(
    trials: Sequence[Trial],
    plan: Plan,
    measure: Measure,
    jobs: int,
    named: Sequence[str],
    told: set[int],
) -> Iterator[tuple[Trial, list[Row] | str]]:
    pool = concurrent.futures.ProcessPoolExecutor(
        min(jobs, len(trials)),
        multiprocessing.get_context("spawn"),
        initializer=worker.start,
        initargs=(tuple(named), plan.workdir),
    )
    try:
        futures = {pool.submit(worker.perform, t, plan, measure): t for t in trials}
        for future in concurrent.futures.as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        # Others would go on for hours before the error is told; they are saved.
        _stop_children(told)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _threads(jobs: int) -> Iterator[None]:
    """Gives processes that begin within it their share of threads, and of a GPU.

    TensorFlow reads it when it is imported, which may be before a process runs any
    code of ours.
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
        f"{signal.Signals(stopped[0]).name}: runs under way are saved. "
        "Run the same command again to go on."
    )


@contextlib.contextmanager
def _stopping_children(told: set[int]) -> Iterator[list[int]]:
    """Passes SIGTERM and SIGINT on as SIGTERM; yields a list with what came."""
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
    """Sends SIGTERM to those that were not told: a second one gives up saving."""
    for child in multiprocessing.active_children():
        if child.pid in told:
            continue
        told.add(child.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGTERM)
