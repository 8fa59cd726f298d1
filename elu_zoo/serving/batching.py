"""Batching: requests that wait for the same signature run as one batch.

A single request runs at once. Only if the last batch had several requests does the
next batch wait for as many, at most five milliseconds.
"""

import collections
import concurrent.futures
import dataclasses
import functools
import logging
import os
import threading
import time
from collections.abc import Callable

import grpc
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.serving.settings import Settings
from elu_zoo.serving.signature import Arrays, Signature
from elu_zoo.serving.status_errors import StatusError, too_many_examples

_MAX_WAIT_SECONDS = 5e-3
_POLL_SECONDS = 2.5e-4
_CODES = {code.value[0]: code for code in grpc.StatusCode}


@dataclasses.dataclass(frozen=True, eq=False)
class _Job:
    arrays: Arrays
    size: int
    answer: concurrent.futures.Future


class Batcher:
    """The queue of a signature; any thread may use it."""

    def __init__(
        self,
        signature: Signature,
        settings: Settings,
        executor: concurrent.futures.Executor,
        on_batch: Callable[[int], None],
    ):
        """Args:
        signature: the signature that runs.
        settings: the limits of batches and of the queue.
        executor: its threads run the batches.
        on_batch: called with the number of examples before each batch.
        """
        self._signature = signature
        self._max_batch_size = settings.max_batch_size
        self._max_waiting = settings.max_enqueued_batches * settings.max_batch_size
        self._executor = executor
        self._on_batch = on_batch
        self._lock = threading.Lock()
        self._queue: collections.deque[_Job] = collections.deque()
        self._waiting = 0  # examples in the queue
        self._running = 0  # threads that run a batch
        self._expected = 1  # requests: as many as when the last batch ended
        self._joins = settings.enable_batching and signature.is_batched
        # With batching, the executor's threads are for different signatures.
        self._max_running = 1 if settings.enable_batching else os.cpu_count() or 1

    def submit(self, arrays: Arrays) -> concurrent.futures.Future:
        """Queues a request; returns a future of its outputs or its StatusError.

        Cancelling the future before the request runs frees its place in the queue.

        Raises:
            StatusError: the request has too many examples, or the queue is full.
        """
        size = self._signature.size(arrays)
        if size > self._max_batch_size:
            raise too_many_examples(size, self._max_batch_size)
        job = _Job(arrays, size, concurrent.futures.Future())
        with self._lock:
            if self._waiting + size > self._max_waiting:
                raise StatusError(
                    grpc.StatusCode.UNAVAILABLE,
                    "The batch scheduling queue to which this task was submitted is "
                    "full",
                )
            self._queue.append(job)
            self._waiting += size
            starts = self._running < self._max_running
            self._running += starts
        job.answer.add_done_callback(functools.partial(self._remove_cancelled, job))
        if starts:
            self._executor.submit(self._run_batch)
        return job.answer

    def _remove_cancelled(self, job: _Job, answer: concurrent.futures.Future) -> None:
        if not answer.cancelled():
            return
        with self._lock:
            if job in self._queue:
                self._queue.remove(job)
                self._waiting -= job.size

    def _run_batch(self) -> None:
        jobs = self._next_batch()
        if not jobs:
            return
        self._on_batch(sum(job.size for job in jobs))
        results = _run(self._signature, [job.arrays for job in jobs])
        with self._lock:
            self._expected = len(jobs) + len(self._queue)
        for job, result in zip(jobs, results, strict=True):
            if isinstance(result, Exception):
                job.answer.set_exception(result)
            else:
                job.answer.set_result(result)
        with self._lock:
            if not self._queue:
                self._running -= 1
                return
        # Not a loop: other signatures' batches may be waiting for this thread.
        self._executor.submit(self._run_batch)

    def _next_batch(self) -> list[_Job]:
        """Returns the next batch; an empty one if all requests were cancelled."""
        if self._joins:
            end = time.monotonic() + _MAX_WAIT_SECONDS
            while (
                len(self._queue) < self._expected
                and self._waiting < self._max_batch_size
                and time.monotonic() < end
            ):
                time.sleep(_POLL_SECONDS)
        jobs, size = [], 0
        with self._lock:
            while self._queue and (self._joins or not jobs):
                if size + self._queue[0].size > self._max_batch_size:
                    break
                job = self._queue.popleft()
                self._waiting -= job.size
                if job.answer.set_running_or_notify_cancel():
                    jobs.append(job)
                    size += job.size
            if not jobs:
                self._running -= 1
        return jobs


def _run(signature: Signature, requests: list[Arrays]) -> list[Arrays | StatusError]:
    """Runs one batch; if it fails, runs each request alone to find the bad ones."""
    try:
        return signature.run(requests)
    except Exception as error:
        if len(requests) == 1:
            return [_status_error(error)]
    return [_run(signature, [arrays])[0] for arrays in requests]


def _status_error(error: Exception) -> StatusError:
    if isinstance(error, tf.errors.OpError):
        code = _CODES[error.error_code]
        return StatusError(code, errors.graph_reason(error.message))
    logging.getLogger(__name__).error("A request failed.", exc_info=error)
    return StatusError(grpc.StatusCode.INTERNAL, f"{type(error).__name__} in the model")
