"""Clients of servers that the tests start, and of servers that already run."""

import contextlib
import dataclasses
import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

OURS = "elu-zoo-serve"
PREDICT = "/tensorflow.serving.PredictionService/Predict"
_SECONDS = 60
_OPTIONS = [("grpc.max_send_message_length", -1)]


@dataclasses.dataclass(frozen=True)
class Response:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        # TensorFlow Serving escapes single quotes, which is not valid JSON.
        return json.loads(self.content.replace(b"\\'", b"'"))["error"]


@dataclasses.dataclass(frozen=True)
class Model:
    """An image classifier of a server."""

    name: str
    version: int
    shape: tuple[int, int, int]  # of an image
    outputs: Mapping[str, tuple[str, ...]]  # sorted names, by signature

    def images(self, count: int, seed: int = 0) -> np.ndarray:
        """Returns random images of integers 0..255, float32 (count, *shape)."""
        size = count, *self.shape
        return np.random.default_rng(seed).integers(0, 256, size).astype("float32")

    @property
    def path(self) -> str:
        return f"/v1/models/{self.name}"


class Server:
    """A client of a server; without `process` and `folder`, the tests did not start it."""

    def __init__(
        self,
        rest: str,
        grpc_address: str,
        process: subprocess.Popen | None = None,
        folder: Path | None = None,
    ):
        address = rest.removeprefix("http://").rstrip("/")
        self.host, _, port = address.rpartition(":")
        self.port = int(port)
        self.grpc_address = grpc_address
        self.process, self.folder = process, folder
        self.channel = grpc.insecure_channel(grpc_address, _OPTIONS)
        prediction = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.predict = prediction.Predict
        self.get_metadata = prediction.GetModelMetadata
        self.get_status = model_service_pb2_grpc.ModelServiceStub(self.channel).GetModelStatus
        self.predict_raw = self.channel.unary_unary(PREDICT, bytes, bytes)

    def connect(self, seconds: float = _SECONDS) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=seconds)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Sends an HTTP request; a mapping is sent as JSON."""
        if isinstance(body, Mapping):
            body = json.dumps(body).encode()
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body, headers or {})
            return read_response(connection)

    def get(self, path: str) -> Response:
        return self.send("GET", path)

    def post(self, path: str, body: bytes | Mapping[str, Any]) -> Response:
        return self.send("POST", path, body)

    def model(self, name: str) -> Model:
        """Returns the model that GetModelMetadata describes."""
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
        request.model_spec.name = name
        metadata = self.get_metadata(request, timeout=_SECONDS)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        metadata.metadata["signature_def"].Unpack(signatures)
        definitions = {
            key: definition
            for key, definition in signatures.signature_def.items()
            if definition.inputs
        }
        images = definitions["serving_default"].inputs["images"].tensor_shape
        return Model(
            name,
            metadata.model_spec.version.value,
            tuple(dim.size for dim in images.dim[1:]),
            {key: tuple(sorted(d.outputs)) for key, d in definitions.items()},
        )

    def states(self, name: str) -> dict[int, tuple[str, str]]:
        """Returns (state, message) by version, as reported by GetModelStatus."""
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = name
        rows = self.get_status(request, timeout=_SECONDS).model_version_status
        state = get_model_status_pb2.ModelVersionStatus.State
        return {row.version: (state.Name(row.state), row.status.error_message) for row in rows}

    def stop(self) -> int:
        """Stops the server's process; returns the exit code."""
        self.channel.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def read_response(connection: http.client.HTTPConnection) -> Response:
    """Returns the next response on a connection."""
    response = connection.getresponse()
    return Response(response.status, dict(response.getheaders()), response.read())


@contextlib.contextmanager
def start_server(
    folder: Path, log: Path, *flags: str, files: int | None = None
) -> Iterator[Server]:
    """Starts our server, which may open so many files, and yields a client."""
    command = [sys.executable, "-m", "elu_zoo.bin.serve", f"--model_base_path={folder}"]
    if files:
        command = ["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh", *command]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, "--port=0", "--rest_api_port=0", *flags],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        with process.stdout:
            line = process.stdout.readline().split()
            server = None
            try:
                assert line[:1] == ["REST"], log.read_text()[-2000:]
                server = Server(line[1], line[3], process, folder)
                yield server
            finally:
                if server:
                    server.stop()
                else:
                    process.kill()
                    process.wait()


def predict_request(
    name: str, inputs: Mapping[str, np.ndarray], signature: str = ""
) -> predict_pb2.PredictRequest:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


def arrays(response: predict_pb2.PredictResponse) -> dict[str, np.ndarray]:
    """Returns the outputs of a response as arrays."""
    return {key: tf.make_ndarray(value) for key, value in response.outputs.items()}


def assert_equal(outputs: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Checks that outputs are equal, up to a relative or absolute error of 1e-5."""
    assert set(outputs) == set(expected)
    for name, values in expected.items():
        if name == "labels":  # text over REST, bytes over gRPC
            assert np.array_equal(*(np.asarray(x).astype(bytes) for x in (outputs[name], values)))
        else:
            np.testing.assert_allclose(outputs[name], values, 1e-5, 1e-5)


def wait_until(condition, seconds: float = 30.0) -> None:
    """Returns as soon as `condition()` is true; fails after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
