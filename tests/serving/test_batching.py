import concurrent.futures
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
    """Records its batches; each runs as soon as `gate` is set."""

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

    def wait_until_it_runs(self):
        assert self._ran.acquire(timeout=SECONDS)


@pytest.fixture
def batcher(monkeypatch):
    """Makes a Batcher on two threads."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with concurrent.futures.ThreadPoolExecutor(4) as executor:

        def make(signature, on_batch=lambda size: None, executor=executor, **settings):
            settings = {"max_batch_size": 4, "max_enqueued_batches": 100} | settings
            return Batcher(signature, Settings("", **settings), executor, on_batch)

        yield make


@pytest.fixture
def held(batcher):
    """Makes a signature whose first request runs until the gate opens."""
    signatures = []

    def make(is_batched=True, **settings):
        signature = StandInSignature(is_batched)
        signatures.append(signature)
        made = batcher(signature, **settings)
        first = made.submit({"x": "1"})
        signature.wait_until_it_runs()
        return signature, made, first

    yield make
    for signature in signatures:
        signature.gate.set()


def submit(made, *texts):
    return [made.submit({"x": text}) for text in texts]


def results(answers):
    return [answer.result(SECONDS)["y"] for answer in answers]


def error_of(call, *arguments):
    with pytest.raises(StatusError) as raised:
        call(*arguments)
    return raised.value


@pytest.mark.parametrize(
    ("texts", "batches"),
    [
        (["a", "bb", "c"], ["a bb c"]),
        (["aaaa", "b", "cccc"], ["aaaa", "b", "cccc"]),
        (["aaa", "bb", "c", "d"], ["aaa", "bb c d"]),
        (list("abcdefghi"), ["a b c d", "e f g h", "i"]),
    ],
)
def test_waiting_requests_run_as_batches_in_order(held, texts, batches):
    sizes = []
    signature, made, first = held(on_batch=sizes.append)
    answers = submit(made, *texts)
    signature.gate.set()
    assert results([first, *answers]) == ["1", *(text.upper() for text in texts)]
    batches = ["1", *batches]
    assert [" ".join(batch) for batch in signature.batches] == batches
    assert sizes == [len(batch.replace(" ", "")) for batch in batches]


def test_without_batching_requests_run_alone_on_all_threads(held):
    signature, made, first = held(enable_batching=False)
    answers = submit(made, "a", "bb", "ccc")
    signature.wait_until_it_runs()
    with pytest.raises(concurrent.futures.TimeoutError):
        answers[1].result(0.02)
    assert signature.batches == [["1"], ["a"]]
    signature.gate.set()
    assert results([first, *answers]) == ["1", "A", "BB", "CCC"]
    assert sorted(signature.batches) == [["1"], ["a"], ["bb"], ["ccc"]]


def test_requests_of_an_unbatched_signature_run_one_at_a_time(held):
    signature, made, first = held(is_batched=False)
    answers = submit(made, "a", "a" * 99)
    with pytest.raises(concurrent.futures.TimeoutError):
        answers[0].result(0.02)
    assert signature.batches == [["1"]]
    signature.gate.set()
    assert results([first, *answers]) == ["1", "A", "A" * 99]
    assert signature.batches == [["1"], ["a"], ["a" * 99]]


@pytest.mark.parametrize("enable_batching", [True, False])
def test_a_request_of_more_than_a_batch(held, enable_batching):
    signature, made, first = held(enable_batching=enable_batching)
    error = error_of(submit, made, "aaaaa")
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
    assert error.message == "Task size 5 is larger than maximum input batch size 4"
    signature.gate.set()
    assert results(submit(made, "aaaa")) == ["AAAA"]


def test_a_full_queue(held):
    signature, made, first = held(max_enqueued_batches=2)
    answers = submit(made, "aaa", "bbb", "c")
    error = error_of(submit, made, "dd")
    assert error.code is grpc.StatusCode.UNAVAILABLE
    assert error.message == (
        "The batch scheduling queue to which this task was submitted is full"
    )
    answers += submit(made, "e")
    signature.gate.set()
    assert results(answers) == ["AAA", "BBB", "C", "E"]
    assert results(submit(made, "ffff")) == ["FFFF"]


def test_a_cancelled_request_leaves_the_queue(held):
    signature, made, first = held(max_enqueued_batches=1)
    answers = submit(made, "a", "bb", "c")
    assert answers[1].cancel() and not first.cancel()
    answers += submit(made, "dd")
    signature.gate.set()
    assert results([first, answers[0], *answers[2:]]) == ["1", "A", "C", "DD"]
    assert signature.batches == [["1"], ["a", "c", "dd"]]


def test_a_queue_of_cancelled_requests(held):
    signature, made, first = held()
    for answer in submit(made, "a", "bb", "c"):
        answer.cancel()
    signature.gate.set()
    assert results([first, *submit(made, "d")]) == ["1", "D"]
    assert signature.batches == [["1"], ["d"]]


def test_an_unexpected_error_fails_its_request_and_is_logged(held, caplog):
    sizes = []
    signature, made, first = held(max_batch_size=9, on_batch=sizes.append)
    answers = submit(made, "a", "bad", "c")
    signature.gate.set()
    assert results([first, answers[0], answers[2]]) == ["1", "A", "C"]
    error = error_of(answers[1].result, SECONDS)
    assert error.code is grpc.StatusCode.INTERNAL
    assert error.message == "ValueError in the model"
    assert signature.batches == [["1"], ["a", "bad", "c"], ["a"], ["bad"], ["c"]]
    assert sizes == [1, 5]
    assert len(caplog.records) == 1 and "ValueError: a secret" in caplog.text


def test_a_single_request_runs_at_once(batcher, monkeypatch):
    slept = []
    monkeypatch.setattr(batching.time, "sleep", slept.append)
    signature = StandInSignature()
    signature.gate.set()
    made = batcher(signature)
    for _ in range(20):
        assert results(submit(made, "a")) == ["A"]
    assert slept == []


def test_signatures_take_turns_on_a_thread(batcher):
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
        busy, other = (
            batcher(signature, executor=executor) for signature in signatures
        )
        busy.submit({"x": "a"})
        assert done.wait(SECONDS)
    assert "other" in ran[:5]


@pytest.fixture
def together(batcher, loaded):
    """Runs requests as one batch of a SavedModel's signature; returns futures."""

    def together(name, requests):
        signature, sizes = loaded.signatures[name], []
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            opened = threading.Event()
            executor.submit(opened.wait, SECONDS)
            made = batcher(signature, sizes.append, executor)
            answers = [made.submit(request) for request in requests]
            opened.set()
            concurrent.futures.wait(answers, SECONDS)
        assert sizes == [sum(map(signature.size, requests))]
        return answers

    return together


def values_of(*numbers):
    return {"values": np.array(numbers, np.float32)}


def test_a_graph_error_fails_only_its_request(together, caplog):
    answers = together("roots", [values_of(4), values_of(9, -1), values_of(1)])
    assert answers[0].result()["roots"].tolist() == [2]
    assert answers[2].result()["roots"].tolist() == [1]
    error = error_of(answers[1].result)
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "values must be positive" in error.message and "4" not in error.message
    assert "{{node" not in error.message and caplog.records == []


def test_requests_of_different_shapes(together):
    texts = [[[b"a", b"bc"]], [[b"defg"]], [[b"h", b""], [b"", b""]]]
    requests = [{"texts": np.array(rows, object)} for rows in texts]
    answers = together("lengths", requests)
    found = [answer.result()["lengths"].tolist() for answer in answers]
    assert found == [[3], [4], [1, 0]]


def test_a_graph_that_changes_the_number_of_examples(together):
    """A batch would give one client the answer of another."""
    answers = together("doubling", [values_of(1), values_of(2), values_of(3, 4)])
    found = [answer.result()["values"].tolist() for answer in answers]
    assert found == [[1, -1], [2, -2], [3, 4, -3, -4]]
