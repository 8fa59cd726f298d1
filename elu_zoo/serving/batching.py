"""Requests for a signature that wait together run together.

A lone request runs at once: nothing holds it back in the hope of company. Only where
the last batch had several does the next one wait, at most some milliseconds, until as
many have come again.
"""

import collections
import concurrent.futures
import dataclasses
import functools
import logging
import threading
import time
from collections.abc import Callable

import grpc
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.serving import refusals
from elu_zoo.serving.refusals import Refusal
from elu_zoo.serving.signature import Arrays, Signature

_MOST_WAIT_SECONDS = 5e-3
_LOOK_SECONDS = 2.5e-4


@dataclasses.dataclass(frozen=True)
class Limits:
    """What bounds the work that a server takes on.

    Attributes:
        batched: run waiting requests together.
        max_batch_size: examples of a batch, and so of a request.
        max_enqueued_batches: batches of that size that may wait for a signature.
        threads: signatures, or without batching requests, that run at a time.
    """

    batched: bool
    max_batch_size: int
    max_enqueued_batches: int
    threads: int


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
        limits: Limits,
        executor: concurrent.futures.Executor,
        count: Callable[[int], None],
    ):
        """Args:
        signature: what runs.
        limits: see `Limits`.
        executor: its threads run the batches.
        count: is told the number of examples of each batch.
        """
        self._signature = signature
        self._limits = limits
        self._executor = executor
        self._count = count
        self._lock = threading.Lock()
        self._queue: collections.deque[_Job] = collections.deque()
        self._waiting = 0  # examples in the queue
        self._running = 0  # threads at work
        self._expected = 1  # requests, as many as were there when the last batch ended
        self._together = limits.batched and signature.is_batched
        self._most_running = 1 if limits.batched else limits.threads

    def submit(self, arrays: Arrays) -> concurrent.futures.Future:
        """Returns what will hold the outputs for one request, or its refusal.

        To cancel it, before it runs, takes the request out of the queue.

        Raises:
            Refusal: too many examples, or a full queue.
        """
        size, limits = self._signature.size(arrays), self._limits
        if size > limits.max_batch_size:
            raise refusals.too_many(size, limits.max_batch_size)
        job = _Job(arrays, size, concurrent.futures.Future())
        with self._lock:
            most = limits.max_enqueued_batches * limits.max_batch_size
            if self._waiting + size > most:
                raise Refusal(
                    grpc.StatusCode.UNAVAILABLE,
                    "The batch scheduling queue to which this task was submitted is "
                    "full",
                )
            self._queue.append(job)
            self._waiting += size
            is_new = self._running < self._most_running
            self._running += is_new
        job.answer.add_done_callback(functools.partial(self._forget, job))
        if is_new:
            self._executor.submit(self._work)
        return job.answer

    def _forget(self, job: _Job, answer: concurrent.futures.Future) -> None:
        """Gives the room of a request that was cancelled to others."""
        if not answer.cancelled():
            return
        with self._lock:
            if job in self._queue:
                self._queue.remove(job)
                self._waiting -= job.size

    def _work(self) -> None:
        """Runs a batch; the next one, if any, has its turn after other signatures'."""
        if jobs := self._next_batch():
            self._count(sum(job.size for job in jobs))
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
            self._executor.submit(self._work)

    def _next_batch(self) -> list[_Job]:
        """Returns what runs next; nothing if all that waited were cancelled."""
        if self._together:
            end = time.monotonic() + _MOST_WAIT_SECONDS
            while (
                len(self._queue) < self._expected
                and self._waiting < self._limits.max_batch_size
                and time.monotonic() < end
            ):
                time.sleep(_LOOK_SECONDS)
        jobs, size = [], 0
        with self._lock:
            while self._queue and (self._together or not jobs):
                if size + self._queue[0].size > self._limits.max_batch_size:
                    break
                job = self._queue.popleft()
                self._waiting -= job.size
                if job.answer.set_running_or_notify_cancel():
                    jobs.append(job)
                    size += job.size
            if not jobs:
                self._running -= 1
        return jobs


def _run(signature: Signature, requests: list[Arrays]) -> list[Arrays | Refusal]:
    """Returns an answer or a refusal for each request, of one batch if it goes well.

    A graph refuses a batch as a whole; then each request runs alone, so that a bad
    one harms no other.
    """
    try:
        return signature.run(requests)
    except Exception as error:
        if len(requests) == 1:
            return [_refusal(error)]
    return [_run(signature, [arrays])[0] for arrays in requests]


def _refusal(error: Exception) -> Refusal:
    if isinstance(error, tf.errors.OpError):
        return refusals.by_number(error.error_code, errors.graph_reason(error.message))
    logging.getLogger(__name__).error("A request failed.", exc_info=error)
    return Refusal(grpc.StatusCode.INTERNAL, f"{type(error).__name__} in the model")
