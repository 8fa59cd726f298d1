import asyncio

import grpc
import pytest
from prometheus_client import parser

from elu_zoo.serving import metrics
from elu_zoo.serving.status_errors import StatusError, invalid_argument

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


def test_names_are_tensorflow_servings(counters):
    run(counters)
    lines = counters.text().decode().splitlines()
    assert f'{COUNT}{{model_name="net",status="OK"}} 1.0' in lines
    labels = 'API="predict",entrypoint="REST",model_name="net"'
    assert f"{LATENCY}_count{{{labels}}} 1.0" in lines
    assert f"# TYPE {LATENCY} histogram" in lines
    ends = [float(end) for *_, end, _ in samples(counters, f"{LATENCY}_bucket")]
    assert ends[:3] == pytest.approx([10, 18, 32.4])
    assert ends[-2] > 1e9 and ends[-1] == float("inf")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (invalid_argument("text"), "INVALID_ARGUMENT"),
        (StatusError(grpc.StatusCode.UNAVAILABLE, "text"), "UNAVAILABLE"),
        (asyncio.CancelledError(), "CANCELLED"),
        (ValueError("a fault of the server"), "INTERNAL"),
    ],
)
def test_counts_by_outcome(counters, error, status):
    with pytest.raises(type(error)):
        run(counters, error)
    run(counters)
    run(counters, model="other")
    assert samples(counters, COUNT) == {
        ("net", status): 1,
        ("net", "OK"): 1,
        ("other", "OK"): 1,
    }


def test_latency_of_successful_requests(counters, monkeypatch):
    clock = iter([1.0, 1.5, 2.0, 2.25, 3.0])
    monkeypatch.setattr(metrics.time, "perf_counter", lambda: next(clock))
    run(counters)
    run(counters, entrypoint="GRPC")
    with pytest.raises(StatusError):
        run(counters, invalid_argument("text"))
    # TensorFlow Serving writes the API of gRPC with a capital letter.
    assert samples(counters, f"{LATENCY}_sum") == {
        ("predict", "REST", "net"): 0.5e6,
        ("Predict", "GRPC", "net"): 0.25e6,
    }


def test_batch_sizes(counters):
    for size in 1, 3, 64:
        counters.batch("net", "serving_default", size)
    counters.batch("net", "other", 2)
    key = "net", "serving_default"
    name = "elu_zoo_batch_size"
    assert samples(counters, f"{name}_count") == {key: 3, ("net", "other"): 1}
    assert samples(counters, f"{name}_sum")[key] == 68
    buckets = samples(counters, f"{name}_bucket")
    ends = ("1.0", "2.0", "4.0", "32.0", "64.0")
    assert [buckets[end, *key] for end in ends] == [1, 1, 2, 2, 3]
