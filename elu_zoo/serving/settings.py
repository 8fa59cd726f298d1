"""The settings of a server."""

import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a server runs; each field is a flag of elu-zoo-serve.

    Attributes:
        model_base_path: folder of the models, see `Repository`.
        host: address to listen on.
        port: gRPC port; 0 takes a free one.
        rest_api_port: HTTP port; 0 takes a free one.
        enable_batching: whether waiting requests run as one batch.
        max_batch_size: the most examples of a batch, and so of a request.
        max_enqueued_batches: the most batches that may wait for a signature.
        max_body_bytes: the largest request, over gRPC or HTTP.
        rest_api_timeout_in_ms: timeout of an HTTP request; gRPC clients send their
            own deadline.
        file_system_poll_wait_seconds: time between two looks at the folder.
        drain_seconds: how long a stopping server waits for unfinished requests.
    """

    model_base_path: str | os.PathLike
    host: str = "127.0.0.1"
    port: int = 8500
    rest_api_port: int = 8501
    enable_batching: bool = True
    max_batch_size: int = 64
    max_enqueued_batches: int = 16
    max_body_bytes: int = 32 << 20
    rest_api_timeout_in_ms: int = 30_000
    file_system_poll_wait_seconds: float = 1.0
    drain_seconds: float = 30.0
