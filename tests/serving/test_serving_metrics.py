import asyncio

import grpc
import pytest
from prometheus_client import parser

from elu_zoo.serving import metrics, refusals

COUNT = ":tensorflow:serving:request_count"
LATENCY = ":tensorflow:serving:request_latency"


@pytest.fixture
def counters():
    return metrics.Metrics()


def samples(counters, name):
    """{labels: value} of the samples of that name; labels sorted by name."""
    families = parser.text_string_to_metric_families(counters.text().decode())
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def run(counters, error=None, model="net", entrypoint="REST"):
    with counters.request(model, entrypoint):
        if error:
            raise error


def test_as_tensorflow_serving_names_them(counters):
    run(counters)
    lines = counters.text().decode().splitlines()
    assert f'{COUNT}{{model_name="net",status="OK"}} 1.0' in lines
    labels = 'API="predict",entrypoint="REST",model_name="net"'
    assert f"{LATENCY}_count{{{labels}}} 1.0" in lines
    assert f"# TYPE {LATENCY} histogram" in lines
    assert metrics.PATH == "/monitoring/prometheus/metrics"
    assert metrics.CONTENT_TYPE.startswith("text/plain; version=")


# In prediction_service_impl.cc its API is "Predict".
def test_latency_of_grpc_is_labelled_as_tensorflow_servings(counters):
    run(counters, entrypoint="GRPC")
    assert samples(counters, f"{LATENCY}_count") == {("Predict", "GRPC", "net"): 1}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (refusals.invalid("text"), "INVALID_ARGUMENT"),
        (refusals.Refusal(grpc.StatusCode.UNAVAILABLE, "text"), "UNAVAILABLE"),
        (asyncio.CancelledError(), "CANCELLED"),
        (ValueError("a fault of the server"), "INTERNAL"),
    ],
)
def test_counts_by_outcome(counters, error, status):
    with pytest.raises(type(error)) as raised:
        run(counters, error)
    assert raised.value is error
    run(counters)
    run(counters, model="other")
    assert samples(counters, COUNT) == {
        ("net", status): 1,
        ("net", "OK"): 1,
        ("other", "OK"): 1,
    }


def test_latency_is_of_answers_alone(counters, monkeypatch):
    clock = iter([1.0, 1.5, 2.0, 2.25, 3.0, 9.0])
    monkeypatch.setattr(metrics.time, "perf_counter", lambda: next(clock))
    run(counters)
    run(counters, entrypoint="GRPC")
    with pytest.raises(refusals.Refusal):
        run(counters, refusals.invalid("text"))
    found = {
        entrypoint: value
        for (_, entrypoint, _), value in samples(counters, f"{LATENCY}_sum").items()
    }
    assert found == {"REST": 0.5e6, "GRPC": 0.25e6}


def test_latency_has_tensorflow_servings_buckets(counters):
    run(counters)
    ends = [float(end) for *_, end, _ in samples(counters, f"{LATENCY}_bucket")]
    assert ends[:3] == pytest.approx([10, 18, 32.4])
    assert ends[-2] > 1e9 and ends[-1] == float("inf")


def test_batch_sizes(counters):
    for size in 1, 3, 64:
        counters.batch("net", "serving_default", size)
    counters.batch("net", "other", 2)
    key = "net", "serving_default"
    assert samples(counters, "elu_zoo_batch_size_count") == {
        key: 3,
        ("net", "other"): 1,
    }
    assert samples(counters, "elu_zoo_batch_size_sum")[key] == 68
    buckets = {
        end: value
        for (end, _, name), value in samples(
            counters, "elu_zoo_batch_size_bucket"
        ).items()
        if name == "serving_default"
    }
    assert [buckets[end] for end in ("1.0", "2.0", "4.0", "32.0", "64.0")] == [
        1, 1, 2, 2, 3,
    ]  # fmt: skip


def test_servers_count_for_themselves(counters):
    run(counters)
    assert samples(metrics.Metrics(), COUNT) == {}
