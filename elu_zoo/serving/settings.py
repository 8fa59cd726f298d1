"""Settings of a server."""

import dataclasses
import os

from elu_zoo import errors


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of a server. Each field is a flag of elu-zoo-serve, which describes it."""

    model_base_path: str | os.PathLike
    host: str = "127.0.0.1"
    port: int = 8500
    rest_api_port: int = 8501
    enable_batching: bool = True
    max_batch_size: int = 64
    max_enqueued_batches: int = 16
    max_output_values: int = 1 << 22
    max_body_bytes: int = 32 << 20
    rest_api_timeout_in_ms: int = 30_000
    rest_api_enable_cors_support: bool = False
    file_system_poll_wait_seconds: float = 1.0
    drain_seconds: float = 30.0

    def __post_init__(self):
        for name in ("file_system_poll_wait_seconds", "drain_seconds"):
            errors.check_number(name, getattr(self, name), errors.NON_NEGATIVE)
