"""Serves exported models over gRPC and REST, with the API of TensorFlow Serving.

elu-zoo-serve --model_base_path=exports    and see http://127.0.0.1:8501/
"""

import asyncio
import dataclasses
from pathlib import Path

from absl import flags as absl_flags

from elu_zoo import errors
from elu_zoo.bin import flags

# Each of these flags is a field of serving.settings.Settings.
_FOLDER = "Folder of models, <name>/<version>/, or of one model, <version>/."
flags.define_path("model_base_path", None, _FOLDER, required=True)
_HOST = "Address; 0.0.0.0 accepts any machine, without access control."
absl_flags.DEFINE_string("host", "127.0.0.1", _HOST)
absl_flags.DEFINE_bool("enable_batching", True, "Combine waiting requests in batches.")
absl_flags.DEFINE_bool("rest_api_enable_cors_support", False, "Allow pages of other origins.")
for _name, _default, _help, *_limits in (
    ("port", 8500, "Port of gRPC; 0: any free port.", 0, 65535),
    ("rest_api_port", 8501, "Port of HTTP; 0: any free port.", 0, 65535),
    ("max_batch_size", 64, "Largest number of examples in a batch or request.", 1),
    ("max_enqueued_batches", 16, "Largest number of waiting batches per signature.", 1),
    ("max_output_values", 1 << 22, "Largest number of values in a response.", 1),
    ("max_body_bytes", 32 << 20, "Largest size of a request in bytes.", 1024, 2**31 - 1),
    ("rest_api_timeout_in_ms", 30_000, "Time limit of an HTTP request in milliseconds.", 1),
):
    absl_flags.DEFINE_integer(_name, _default, _help, *_limits)
absl_flags.DEFINE_float("file_system_poll_wait_seconds", 1.0, "Seconds between polls.", 0.01)
absl_flags.DEFINE_float("drain_seconds", 30.0, "Seconds to finish requests after SIGTERM.", 0.0)


def check(argv: list[str]) -> None:
    flags.no_arguments(argv)
    if not Path(absl_flags.FLAGS.model_base_path).is_dir():
        raise errors.NotFoundError(f"There is no folder {absl_flags.FLAGS.model_base_path}.")


def main(_: list[str]) -> None:
    try:
        from elu_zoo.serving import server
    except ModuleNotFoundError as error:
        remedy = "Run: pip install 'elu-zoo[serving]'"
        raise errors.UsageError(f"{error.name} is not installed. {remedy}") from error
    names = [field.name for field in dataclasses.fields(server.Settings)]
    settings: dict = {name: absl_flags.FLAGS[name].value for name in names}
    asyncio.run(server.serve(server.Settings(**settings), _say))


def _say(running) -> None:
    print(f"REST http://{running.rest_address}/  gRPC {running.grpc_address}", flush=True)


run = flags.binary(main, check, verbose=True)

if __name__ == "__main__":
    run()
