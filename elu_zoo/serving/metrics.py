"""Metrics of the server, in Prometheus' text format.

`:tensorflow:serving:request_count` and `:tensorflow:serving:request_latency` (in
microseconds) have TensorFlow Serving's names and labels, so that its dashboards work.
"""

import contextlib
import time
from collections.abc import Iterator

import grpc
import prometheus_client

from elu_zoo.serving.status_errors import StatusError

PATHS = "/monitoring/prometheus/metrics", "/metrics"
# TensorFlow Serving's buckets in microseconds: 10, 18, ... to about 1,000 s.
_BUCKETS = tuple(10 * 1.8**i for i in range(33))


class Metrics:
    """The metrics of one server."""

    def __init__(self):
        self._registry = prometheus_client.CollectorRegistry()
        self._batch_starts: dict[object, float] = {}  # of the batches that run now
        # A Gauge, because Counter would append _total to the name.
        self._requests = prometheus_client.Gauge(
            ":tensorflow:serving:request_count",
            "Requests by model and outcome.",
            ["model_name", "status"],
            registry=self._registry,
        )
        self._latency = prometheus_client.Histogram(
            ":tensorflow:serving:request_latency",
            "Microseconds from the arrival of a request to the response.",
            ["model_name", "API", "entrypoint"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._batch_sizes = prometheus_client.Histogram(
            "elu_zoo_batch_size",
            "Number of examples per batch.",
            ["model_name", "signature_name"],
            buckets=tuple(2.0**i for i in range(11)),
            registry=self._registry,
        )

    @contextlib.contextmanager
    def request(self, model_name: str, entrypoint: str) -> Iterator[None]:
        """Counts the prediction request that the block runs; times only successes."""
        status, start = "OK", time.perf_counter()
        try:
            yield
        except StatusError as error:
            status = error.code.name
            raise
        except Exception:
            status = grpc.StatusCode.INTERNAL.name
            raise
        except BaseException:
            status = grpc.StatusCode.CANCELLED.name
            raise
        finally:
            self._requests.labels(model_name, status).inc()
            if status == "OK":
                microseconds = (time.perf_counter() - start) * 1e6
                api = "Predict" if entrypoint == "GRPC" else "predict"
                self._latency.labels(model_name, api, entrypoint).observe(microseconds)

    @contextlib.contextmanager
    def batch(self, model_name: str, signature_name: str, size: int) -> Iterator[None]:
        """Counts the batch of `size` examples that the block runs."""
        self._batch_sizes.labels(model_name, signature_name).observe(size)
        batch = object()
        self._batch_starts[batch] = time.monotonic()
        try:
            yield
        finally:
            del self._batch_starts[batch]

    def longest_batch(self) -> float:
        """Returns for how many seconds the oldest unfinished batch has run."""
        now = time.monotonic()
        return max((now - start for start in self._batch_starts.copy().values()), default=0.0)

    def text(self) -> bytes:
        """Returns all metrics in Prometheus' text format."""
        return prometheus_client.generate_latest(self._registry)
