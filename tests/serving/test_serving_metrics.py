"""Requests and batches are counted under TensorFlow Serving's metric names."""

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
    """Returns {label values: value} for a sample name; labels are sorted by name."""
    families = parser.text_string_to_metric_families(counters.text().decode())
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def count_request(counters, error=None, model="net", entrypoint="REST"):
    with counters.request(model, entrypoint):
        if error:
            raise error


def test_metrics_have_the_names_and_labels_of_tensorflow_serving(counters):
    count_request(counters)
    lines = counters.text().decode().splitlines()
    assert f'{COUNT}{{model_name="net",status="OK"}} 1.0' in lines
    labels = 'API="predict",entrypoint="REST",model_name="net"'
    assert f"{LATENCY}_count{{{labels}}} 1.0" in lines
    assert f"# TYPE {LATENCY} histogram" in lines
    bounds = [float(bound) for *_, bound, _ in samples(counters, f"{LATENCY}_bucket")]
    assert bounds[:3] == pytest.approx([10, 18, 32.4])
    assert bounds[-2] > 1e9 and bounds[-1] == float("inf")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (invalid_argument("text"), "INVALID_ARGUMENT"),
        (StatusError(grpc.StatusCode.UNAVAILABLE, "text"), "UNAVAILABLE"),
        (asyncio.CancelledError(), "CANCELLED"),
        (ValueError("a fault of the server"), "INTERNAL"),
    ],
)
def test_requests_are_counted_by_status(counters, error, status):
    with pytest.raises(type(error)):
        count_request(counters, error)
    count_request(counters)
    count_request(counters, model="other")
    assert samples(counters, COUNT) == {("net", status): 1, ("net", "OK"): 1, ("other", "OK"): 1}


def test_latency_is_recorded_for_successful_requests_only(counters, monkeypatch):
    clock = iter([1.0, 1.5, 2.0, 2.25, 3.0])
    monkeypatch.setattr(metrics.time, "perf_counter", lambda: next(clock))
    count_request(counters)
    count_request(counters, entrypoint="GRPC")
    with pytest.raises(StatusError):
        count_request(counters, invalid_argument("text"))
    # TensorFlow Serving capitalizes the API label of gRPC requests.
    assert samples(counters, f"{LATENCY}_sum") == {
        ("predict", "REST", "net"): 0.5e6,
        ("Predict", "GRPC", "net"): 0.25e6,
    }
