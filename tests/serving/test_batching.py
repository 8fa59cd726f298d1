import concurrent.futures
import threading

import grpc
import numpy as np
import pytest

from elu_zoo.serving import batching
from elu_zoo.serving.batching import Batcher, Limits
from elu_zoo.serving.refusals import Refusal

SECONDS = 10


class Graph:
    """Stands in for a Signature: notes what runs, and runs while its gate is open."""

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
        for text in "bad", "secret":
            if any(text in arrays["x"] for arrays in requests):
                raise ValueError(text)
        return [{"y": arrays["x"].upper()} for arrays in requests]

    def wait_until_it_runs(self, times=1):
        for _ in range(times):
            assert self._ran.acquire(timeout=SECONDS)


@pytest.fixture
def batcher():
    """Makes a Batcher with threads of its own."""
    with concurrent.futures.ThreadPoolExecutor(4) as executor:

        def make(signature, count=lambda size: None, executor=executor, **limits):
            limits = {
                "batched": True,
                "max_batch_size": 4,
                "max_enqueued_batches": 100,
                "threads": 2,
            } | limits
            return Batcher(signature, Limits(**limits), executor, count)

        yield make


@pytest.fixture
def held(batcher):
    """A Graph and its Batcher, with a request `first` at work until the gate opens."""
    graphs = []

    def make(is_batched=True, **limits):
        graph = Graph(is_batched)
        graphs.append(graph)
        made = batcher(graph, **limits)
        first = made.submit({"x": "1"})
        graph.wait_until_it_runs()
        return graph, made, first

    yield make
    for graph in graphs:
        graph.gate.set()


def submit(made, *texts):
    return [made.submit({"n": np.zeros(2), "x": text}) for text in texts]


def results(answers):
    return [answer.result(SECONDS)["y"] for answer in answers]


def refusal(answer):
    with pytest.raises(Refusal) as refused:
        answer.result(SECONDS)
    return refused.value


def letters(sizes):
    return [letter * size for letter, size in zip("abcdefghijk", sizes, strict=False)]


@pytest.mark.parametrize(
    ("sizes", "batches"),
    [
        ((1, 2, 1), ["a bb c"]),
        ((4, 1, 4), ["aaaa", "b", "cccc"]),
        ((2, 2, 1), ["aa bb", "c"]),
        ((3, 2, 1, 1), ["aaa", "bb c d"]),
        ((1,) * 9, ["a b c d", "e f g h", "i"]),
    ],
)
def test_what_waits_runs_together_in_order(held, sizes, batches):
    counted = []
    graph, made, first = held(count=counted.append)
    texts = letters(sizes)
    answers = submit(made, *texts)
    assert not any(answer.done() for answer in answers)
    graph.gate.set()
    assert results([first, *answers]) == ["1", *(text.upper() for text in texts)]
    batches = ["1", *batches]
    assert [" ".join(batch) for batch in graph.batches] == batches
    assert counted == [len(batch.replace(" ", "")) for batch in batches]


def test_without_batching_each_runs_alone_on_so_many_threads(held):
    counted = []
    graph, made, first = held(batched=False, count=counted.append)
    answers = submit(made, "a", "bb", "ccc")
    graph.wait_until_it_runs()
    with pytest.raises(concurrent.futures.TimeoutError):
        answers[1].result(0.02)
    assert graph.batches == [["1"], ["a"]]
    graph.gate.set()
    assert results([first, *answers]) == ["1", "A", "BB", "CCC"]
    assert sorted(counted) == [1, 1, 2, 3]
    assert sorted(graph.batches) == [["1"], ["a"], ["bb"], ["ccc"]]


def test_a_signature_without_batches_runs_alone_one_at_a_time(held):
    graph, made, first = held(is_batched=False)
    answers = submit(made, "a", "a" * 99)
    with pytest.raises(concurrent.futures.TimeoutError):
        answers[0].result(0.02)
    assert graph.batches == [["1"]]
    graph.gate.set()
    assert results([first, *answers]) == ["1", "A", "A" * 99]
    assert graph.batches == [["1"], ["a"], ["a" * 99]]


@pytest.mark.parametrize("batched", [True, False])
def test_too_large_a_request(batcher, batched):
    graph = Graph()
    graph.gate.set()
    made = batcher(graph, batched=batched)
    with pytest.raises(Refusal) as refused:
        made.submit({"x": "aaaaa"})
    assert refused.value.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refused.value.message == (
        "Task size 5 is larger than maximum input batch size 4"
    )
    assert results(submit(made, "aaaa")) == ["AAAA"] and graph.batches == [["aaaa"]]


def test_a_full_queue(held):
    graph, made, first = held(max_enqueued_batches=2)
    answers = submit(made, "aaa", "bbb", "c")
    with pytest.raises(Refusal) as refused:
        made.submit({"x": "dd"})
    assert refused.value.code is grpc.StatusCode.UNAVAILABLE
    assert refused.value.message == (
        "The batch scheduling queue to which this task was submitted is full"
    )
    answers += submit(made, "e")
    graph.gate.set()
    assert results(answers) == ["AAA", "BBB", "C", "E"]
    assert results(submit(made, "ffff")) == ["FFFF"]


def test_a_cancelled_request_leaves_the_queue_and_its_room(held):
    graph, made, first = held(max_enqueued_batches=1)
    answers = submit(made, "a", "bb", "c")
    assert answers[1].cancel()
    answers += submit(made, "dd")
    graph.gate.set()
    assert results([answers[0], *answers[2:]]) == ["A", "C", "DD"]
    assert graph.batches == [["1"], ["a", "c", "dd"]]
    assert results(submit(made, "aaaa")) == ["AAAA"]


def test_a_queue_of_cancelled_requests(held):
    graph, made, first = held()
    for answer in submit(made, "a", "bb", "c"):
        answer.cancel()
    graph.gate.set()
    assert results([first, *submit(made, "d")]) == ["1", "D"]
    assert graph.batches == [["1"], ["d"]]


def test_a_running_request_cannot_be_cancelled(held):
    graph, made, first = held()
    answers = submit(made, "a", "b")
    assert not first.cancel()
    graph.gate.set()
    assert results([first, *answers]) == ["1", "A", "B"]


def test_only_the_bad_request_of_a_batch_is_refused(held, caplog):
    counted = []
    graph, made, first = held(max_batch_size=9, count=counted.append)
    answers = submit(made, "a", "bad", "c")
    graph.gate.set()
    assert results([first, answers[0], answers[2]]) == ["1", "A", "C"]
    assert refusal(answers[1]).code is grpc.StatusCode.INTERNAL
    assert graph.batches == [["1"], ["a", "bad", "c"], ["a"], ["bad"], ["c"]]
    assert counted == [1, 5]
    assert len(caplog.records) == 1


def test_an_unexpected_error_is_logged_and_not_told(batcher, caplog):
    graph = Graph()
    graph.gate.set()
    answer = batcher(graph, max_batch_size=9).submit({"x": "secret"})
    refused = refusal(answer)
    assert refused.code is grpc.StatusCode.INTERNAL
    assert refused.message == "ValueError in the model"
    assert "ValueError: secret" in caplog.text


def test_a_lone_request_is_not_held_back(batcher, monkeypatch):
    slept = []
    monkeypatch.setattr(batching.time, "sleep", slept.append)
    graph = Graph()
    graph.gate.set()
    made = batcher(graph)
    for _ in range(20):
        assert results(submit(made, "a")) == ["A"]
    assert slept == []


# There may be more signatures than threads.
def test_a_busy_signature_leaves_others_their_turn(batcher):
    ran = []

    class Busy(Graph):
        def run(self, requests):
            ran.append("busy")
            if len(ran) == 1:
                other.submit({"x": "a"})
            if len(ran) < 50:
                busy.submit({"x": "a"})
            else:
                done.set()
            return super().run(requests)

    class Other(Graph):
        def run(self, requests):
            ran.append("other")
            return super().run(requests)

    done, graphs = threading.Event(), (Busy(), Other())
    for graph in graphs:
        graph.gate.set()
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        busy, other = (batcher(graph, executor=executor) for graph in graphs)
        busy.submit({"x": "a"})
        assert done.wait(SECONDS)
    assert "other" in ran[:5]


def values_of(*numbers):
    return {"values": np.array(numbers, np.float32)}


@pytest.fixture
def together(batcher, loaded):
    """The answers of requests that wait together for a loaded signature."""

    def together(name, requests):
        signature, counted = loaded.signatures[name], []
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            opened = threading.Event()
            executor.submit(opened.wait, SECONDS)
            made = batcher(signature, counted.append, executor)
            answers = [made.submit(request) for request in requests]
            opened.set()
            concurrent.futures.wait(answers, SECONDS)
        assert counted == [sum(map(signature.size, requests))]
        return answers

    return together


def test_a_graph_refuses_only_the_bad_request(together, caplog):
    answers = together("refusing", [values_of(4), values_of(9, -1), values_of(1)])
    assert answers[0].result()["roots"].tolist() == [2]
    assert answers[2].result()["roots"].tolist() == [1]
    refused = refusal(answers[1])
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "values must be positive" in refused.message and "4" not in refused.message
    assert "{{node" not in refused.message and caplog.records == []


def test_requests_that_do_not_fit_each_other(together):
    texts = [[[b"a", b"bc"]], [[b"defg"]], [[b"h", b""], [b"", b""]]]
    requests = [{"texts": np.array(rows, object)} for rows in texts]
    answers = together("lengths", requests)
    assert [answer.result()["lengths"].tolist() for answer in answers] == [
        [3],
        [4],
        [1, 0],
    ]


# Else a client is answered with what belongs to another one.
def test_a_graph_that_does_not_keep_the_number_of_examples(together):
    answers = together("doubling", [values_of(1), values_of(2), values_of(3, 4)])
    assert [answer.result()["values"].tolist() for answer in answers] == [
        [1, -1],
        [2, -2],
        [3, 4, -3, -4],
    ]
