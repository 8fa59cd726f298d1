"""Serves exported models over gRPC and REST, with the API of TensorFlow Serving.

elu-zoo-serve --model_base_path=exports
elu-zoo-serve --model_base_path=exports/mnist_mlp_8x128 --rest_api_port=8501 --port=8500

The folder holds one model or several. New versions are loaded while the server runs.
http://127.0.0.1:8501/ is a web page that predicts images.
"""

import asyncio
import dataclasses
from pathlib import Path

from absl import flags as absl_flags

from elu_zoo import errors
from elu_zoo.bin import flags

# Each of these flags is a field of serving.server.Settings.
flags.define_path(
    "model_base_path",
    None,
    "Folder of models, <name>/<version>/, or of one model, <version>/.",
    required=True,
)
absl_flags.DEFINE_string(
    "host", "127.0.0.1", "Address; 0.0.0.0 accepts any machine, without access control."
)
absl_flags.DEFINE_integer("port", 8500, "Port of gRPC; 0: any free port.", 0, 65535)
absl_flags.DEFINE_integer("rest_api_port", 8501, "Port of HTTP; 0: any free port.", 0, 65535)
absl_flags.DEFINE_bool("enable_batching", True, "Combine waiting requests in batches.")
absl_flags.DEFINE_integer(
    "max_batch_size", 64, "Largest number of examples in a batch or request.", 1
)
absl_flags.DEFINE_integer(
    "max_enqueued_batches", 16, "Largest number of waiting batches per signature.", 1
)
absl_flags.DEFINE_integer(
    "max_body_bytes",
    32 << 20,
    "Largest size of a request in bytes; memory holds up to 256 gRPC requests at once.",
    1024,
    2**31 - 1,
)
absl_flags.DEFINE_integer(
    "rest_api_timeout_in_ms", 30_000, "Time limit of a request in milliseconds.", 1
)
absl_flags.DEFINE_float(
    "file_system_poll_wait_seconds", 1.0, "Seconds between checks for versions.", 0.01
)
absl_flags.DEFINE_float("drain_seconds", 30.0, "Wait for requests after SIGTERM.", 0.0)


def check(argv: list[str]) -> None:
    flags.no_arguments(argv)
    base = Path(absl_flags.FLAGS.model_base_path)
    if not base.is_dir():
        raise errors.NotFoundError(f"There is no folder {base}.")


def main(_: list[str]) -> None:
    try:
        from elu_zoo.serving import server
    except ModuleNotFoundError as error:
        raise errors.UsageError(
            f"{error.name} is not installed. Run: pip install 'elu-zoo[serving]'"
        ) from error

    names = [field.name for field in dataclasses.fields(server.Settings)]
    settings = server.Settings(**{name: absl_flags.FLAGS[name].value for name in names})
    asyncio.run(server.serve(settings, _print_addresses))


def _print_addresses(running) -> None:
    rest, grpc = running.rest_address, running.grpc_address
    print(f"REST http://{rest}/  gRPC {grpc}", flush=True)


def run() -> None:
    flags.run(main, check, verbose=True)


if __name__ == "__main__":
    run()
