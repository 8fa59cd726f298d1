"""Requests are joined to batches; errors and full queues are reported per request."""

import concurrent.futures
import contextlib
import os
import threading

import grpc
import numpy as np
import pytest

from elu_zoo.serving import batching
from elu_zoo.serving.batching import Batcher
from elu_zoo.serving.settings import Settings
from elu_zoo.serving.status_errors import StatusError

SECONDS = 10


class StandInSignature:
    """Replaces Signature; it records batches, which end when `gate` is set."""

    def __init__(self, is_batched=True):
        self.is_batched = is_batched
        self.batches = []
        self.gate = threading.Event()
        self._ran = threading.Semaphore(0)

    def size(self, arrays):
        return len(arrays["x"]) if self.is_batched else 1

    def run(self, requests):
        self.batches.append([arrays["x"] for arrays in requests])
        self._ran.release()
        assert self.gate.wait(SECONDS)
        if any("bad" in arrays["x"] for arrays in requests):
            raise ValueError("a secret")
        return [{"y": arrays["x"].upper()} for arrays in requests]

    def wait_for_a_batch(self):
        assert self._ran.acquire(timeout=SECONDS)


@pytest.fixture
def make_batcher(monkeypatch):
    """Returns a function that creates a Batcher as on a machine with two cores."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with concurrent.futures.ThreadPoolExecutor(4) as executor:

        def make(signature, on_batch=lambda size: None, executor=executor, **settings):
            settings = {"max_batch_size": 4, "max_enqueued_batches": 100} | settings
            return Batcher(
                signature,
                Settings("", **settings),
                executor,
                lambda size: contextlib.nullcontext(on_batch(size)),
            )

        yield make


@pytest.fixture
def make_busy(make_batcher):
    """Returns a function that creates a signature, a Batcher and a running request."""
    signatures = []

    def make(is_batched=True, **settings):
        signature = StandInSignature(is_batched)
        signatures.append(signature)
        queue = make_batcher(signature, **settings)
        first = queue.submit({"x": "1"})
        signature.wait_for_a_batch()
        return signature, queue, first

    yield make
    for signature in signatures:
        signature.gate.set()


def submit(queue, *texts):
    return [queue.submit({"x": text}) for text in texts]


def results_of(futures):
    return [future.result(SECONDS)["y"] for future in futures]


def status_error_of(call, *arguments):
    with pytest.raises(StatusError) as raised:
        call(*arguments)
    return raised.value


@pytest.mark.parametrize(
    ("texts", "batches"),
    [
        (["a", "bb", "c"], ["a bb c"]),
        (["aaa", "bb", "c", "d"], ["aaa", "bb c d"]),
        (list("abcdefghi"), ["a b c d", "e f g h", "i"]),
    ],
)
def test_waiting_requests_run_in_order_in_the_largest_possible_batches(make_busy, texts, batches):
    sizes = []
    signature, queue, first = make_busy(on_batch=sizes.append)
    futures = submit(queue, *texts)
    signature.gate.set()
    assert results_of([first, *futures]) == ["1", *(text.upper() for text in texts)]
    batches = ["1", *batches]
    assert [" ".join(batch) for batch in signature.batches] == batches
    assert sizes == [len(batch.replace(" ", "")) for batch in batches]


def test_without_batching_requests_run_alone_on_all_threads(make_busy):
    signature, queue, first = make_busy(enable_batching=False)
    error = status_error_of(submit, queue, "aaaaa")
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT and "larger" in error.message
    futures = submit(queue, "a", "bb", "ccc")
    signature.wait_for_a_batch()
    with pytest.raises(concurrent.futures.TimeoutError):
        futures[1].result(0.02)
    assert signature.batches == [["1"], ["a"]]
    signature.gate.set()
    assert results_of([first, *futures]) == ["1", "A", "BB", "CCC"]
    assert sorted(signature.batches) == [["1"], ["a"], ["bb"], ["ccc"]]


def test_requests_of_an_unbatched_signature_run_one_at_a_time(make_busy):
    signature, queue, first = make_busy(is_batched=False)
    futures = submit(queue, "a", "a" * 99)
    with pytest.raises(concurrent.futures.TimeoutError):
        futures[0].result(0.02)
    assert signature.batches == [["1"]]
    signature.gate.set()
    assert results_of([first, *futures]) == ["1", "A", "A" * 99]
    assert signature.batches == [["1"], ["a"], ["a" * 99]]


def test_full_queue_rejects_requests(make_busy):
    signature, queue, first = make_busy(max_enqueued_batches=2)
    futures = submit(queue, "aaa", "bbb", "c")
    assert status_error_of(submit, queue, "dd").code is grpc.StatusCode.UNAVAILABLE
    futures += submit(queue, "e")
    signature.gate.set()
    assert results_of(futures) == ["AAA", "BBB", "C", "E"]
    assert results_of(submit(queue, "ffff")) == ["FFFF"]


def test_cancelled_requests_leave_the_queue(make_busy):
    signature, queue, first = make_busy(max_enqueued_batches=1)
    futures = submit(queue, "a", "bb", "c")
    assert futures[1].cancel() and not first.cancel()
    futures += submit(queue, "dd")
    signature.gate.set()
    assert results_of([first, futures[0], *futures[2:]]) == ["1", "A", "C", "DD"]
    assert signature.batches == [["1"], ["a", "c", "dd"]]


def test_unexpected_error_fails_only_its_request_and_is_logged(make_busy, caplog):
    sizes = []
    signature, queue, first = make_busy(max_batch_size=9, on_batch=sizes.append)
    futures = submit(queue, "a", "bad", "c")
    signature.gate.set()
    assert results_of([first, futures[0], futures[2]]) == ["1", "A", "C"]
    error = status_error_of(futures[1].result, SECONDS)
    assert error.code is grpc.StatusCode.INTERNAL and "secret" not in error.message
    assert signature.batches == [["1"], ["a", "bad", "c"], ["a"], ["bad", "c"], ["bad"], ["c"]]
    assert sizes == [1, 5]
    assert len(caplog.records) == 1 and "ValueError: a secret" in caplog.text


def test_single_request_runs_without_waiting(make_batcher, monkeypatch):
    sleeps = []
    monkeypatch.setattr(batching.time, "sleep", sleeps.append)
    signature = StandInSignature()
    signature.gate.set()
    queue = make_batcher(signature)
    for _ in range(20):
        assert results_of(submit(queue, "a")) == ["A"]
    assert sleeps == []


def test_busy_signature_does_not_block_another_signature(make_batcher):
    ran = []

    class Busy(StandInSignature):
        def run(self, requests):
            ran.append("busy")
            if len(ran) == 1:
                other.submit({"x": "a"})
            if len(ran) < 50:
                busy.submit({"x": "a"})
            else:
                done.set()
            return super().run(requests)

    class Other(StandInSignature):
        def run(self, requests):
            ran.append("other")
            return super().run(requests)

    done, signatures = threading.Event(), (Busy(), Other())
    for signature in signatures:
        signature.gate.set()
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        busy, other = (make_batcher(signature, executor=executor) for signature in signatures)
        busy.submit({"x": "a"})
        assert done.wait(SECONDS)
    assert "other" in ran[:5]


@pytest.fixture
def run_batch(make_batcher, loaded):
    """Returns a function that runs requests in one batch of a SavedModel."""

    def run_batch(name, requests):
        signature, sizes = loaded.signatures[name], []
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            started = threading.Event()
            executor.submit(started.wait, SECONDS)
            queue = make_batcher(signature, sizes.append, executor)
            futures = [queue.submit(request) for request in requests]
            started.set()
            concurrent.futures.wait(futures, SECONDS)
        assert sizes == [sum(map(signature.size, requests))]
        return futures

    return run_batch


def values_of(*numbers):
    return {"values": np.array(numbers, np.float32)}


def test_graph_error_fails_only_its_request(run_batch, caplog):
    futures = run_batch("roots", [values_of(4), values_of(9, -1), values_of(1)])
    assert futures[0].result()["roots"].tolist() == [2]
    assert futures[2].result()["roots"].tolist() == [1]
    error = status_error_of(futures[1].result)
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "positive" in error.message and "node" not in error.message
    assert caplog.records == []


TEXTS = [[[b"a", b"bc"]], [[b"defg"]], [[b"h", b""], [b"", b""]]]
SEPARATE = {
    "other shapes": ("lengths", "texts", object, TEXTS, [[3], [4], [1, 0]]),
    # In one batch, clients would receive the outputs of other clients.
    "added examples": ("doubling", "values", "f4", [[1], [3, 4]], [[1, -1], [3, 4, -3, -4]]),
}


@pytest.mark.parametrize("case", SEPARATE)
def test_requests_that_do_not_fit_one_batch_run_separately(run_batch, case):
    name, key, dtype, inputs, expected = SEPARATE[case]
    futures = run_batch(name, [{key: np.array(rows, dtype)} for rows in inputs])
    outputs = [next(iter(future.result().values())).tolist() for future in futures]
    assert outputs == expected
