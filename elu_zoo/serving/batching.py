"""Batching: requests that wait for the same signature run as one batch.

A batch waits up to five milliseconds for as many requests as the previous batch and
the queue behind it held. If this number is 1, the batch runs at once.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import logging
import os
import threading
import time
from collections.abc import Callable

import grpc
import numpy as np
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.serving.settings import Settings
from elu_zoo.serving.signature import Arrays, Signature
from elu_zoo.serving.status_errors import StatusError, too_many_examples, unavailable

_MAX_WAIT_SECONDS = 5e-3
_POLL_SECONDS = 2.5e-4
_CODES = {code.value[0]: code for code in grpc.StatusCode}


@dataclasses.dataclass(frozen=True, eq=False)
class _Job:
    arrays: Arrays
    size: int  # number of examples
    result: concurrent.futures.Future


class Batcher:
    """The request queue of a signature. All methods are thread-safe."""

    def __init__(
        self,
        signature: Signature,
        settings: Settings,
        executor: concurrent.futures.Executor,
        on_batch: Callable[[int], contextlib.AbstractContextManager],
    ):
        """A batch of n examples runs in the context on_batch(n)."""
        self._signature = signature
        self._max_batch_size = settings.max_batch_size
        self._max_waiting = settings.max_enqueued_batches * settings.max_batch_size
        self._max_output_values = settings.max_output_values
        self._executor = executor
        self._on_batch = on_batch
        self._lock = threading.Lock()
        self._queue: collections.deque[_Job] = collections.deque()
        self._waiting = 0  # number of examples in the queue
        self._running = 0  # number of threads that run a batch
        self._expected = 1  # number of requests that the next batch waits for
        self._can_batch = settings.enable_batching and signature.is_batched
        # With batching, one thread is enough; the others run other signatures.
        self._max_running = 1 if settings.enable_batching else os.cpu_count() or 1

    def submit(self, arrays: Arrays) -> concurrent.futures.Future:
        """Queues a request; returns a future of the outputs or of a StatusError.

        Cancelling the future of a request in the queue removes the request.
        """
        size = self._signature.size(arrays)
        if size > self._max_batch_size:
            raise too_many_examples(size, self._max_batch_size)
        job = _Job(arrays, size, concurrent.futures.Future())
        with self._lock:
            if self._waiting + size > self._max_waiting:
                raise unavailable("The queue of requests is full. Send the request later.")
            self._queue.append(job)
            self._waiting += size
            starts_thread = self._running < self._max_running
            self._running += starts_thread
        job.result.add_done_callback(functools.partial(self._remove_cancelled, job))
        if starts_thread:
            self._executor.submit(self._run_batch)
        return job.result

    def _remove_cancelled(self, job: _Job, result: concurrent.futures.Future) -> None:
        if not result.cancelled():
            return
        with self._lock:
            if job in self._queue:
                self._queue.remove(job)
                self._waiting -= job.size

    def _run_batch(self) -> None:
        jobs = self._next_batch()
        if not jobs:
            return
        with self._on_batch(sum(job.size for job in jobs)):
            results = self._run([job.arrays for job in jobs])
        with self._lock:
            self._expected = len(jobs) + len(self._queue)
        for job, result in zip(jobs, results, strict=True):
            if isinstance(result, Exception):
                job.result.set_exception(result)
            else:
                job.result.set_result(result)
        with self._lock:
            if not self._queue:
                self._running -= 1
                return
        # A loop here would keep the thread from batches of other signatures.
        self._executor.submit(self._run_batch)

    def _next_batch(self) -> list[_Job]:
        """Returns the requests of the next batch; empty if all were cancelled."""
        if self._can_batch:
            end = time.monotonic() + _MAX_WAIT_SECONDS
            while (
                len(self._queue) < self._expected
                and self._waiting < self._max_batch_size
                and time.monotonic() < end
            ):
                time.sleep(_POLL_SECONDS)
        jobs, size = list[_Job](), 0
        with self._lock:
            while self._queue and (self._can_batch or not jobs):
                if size + self._queue[0].size > self._max_batch_size:
                    break
                job = self._queue.popleft()
                self._waiting -= job.size
                if job.result.set_running_or_notify_cancel():
                    jobs.append(job)
                    size += job.size
            if not jobs:
                self._running -= 1
        return jobs

    def _run(self, requests: list[Arrays]) -> list[Arrays | StatusError]:
        """Runs one batch. If the batch fails, runs its halves, to find the cause."""
        try:
            return [self._limited(outputs) for outputs in self._signature.run(requests)]
        except Exception as error:
            if len(requests) == 1:
                return [_status_error(error)]
        middle = len(requests) // 2
        return self._run(requests[:middle]) + self._run(requests[middle:])

    def _limited(self, outputs: Arrays) -> Arrays | StatusError:
        """Returns the outputs, or an error if they are too large to be written."""
        count = sum(np.size(array) for array in outputs.values())
        if count <= self._max_output_values:
            return outputs
        return StatusError(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"The outputs have {count} values, more than {self._max_output_values}. Send fewer "
            "examples, or start elu-zoo-serve with a larger --max_output_values.",
        )


def _status_error(error: Exception) -> StatusError:
    if isinstance(error, tf.errors.OpError):
        return StatusError(_CODES[error.error_code], errors.graph_reason(error.message))
    logging.getLogger(__name__).error("A request failed.", exc_info=error)
    return StatusError(grpc.StatusCode.INTERNAL, f"{type(error).__name__} in the model")
