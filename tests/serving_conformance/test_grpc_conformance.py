"""The server implements the requests and responses of TensorFlow Serving's gRPC API."""

import numpy as np
import png_files
import pytest

served = pytest.importorskip("served")

from tensorflow.core.framework import types_pb2  # noqa: E402
from tensorflow_serving.apis import (  # noqa: E402
    get_model_metadata_pb2,
    get_model_status_pb2,
)

METADATA = get_model_metadata_pb2.GetModelMetadataRequest
STATUS = get_model_status_pb2.GetModelStatusRequest


@pytest.fixture(scope="module")
def send(server):
    """Returns a function that sends a PredictRequest."""
    return lambda request: server.predict(request, timeout=60)


@pytest.fixture
def valid(model, images):
    """Returns a valid request."""
    return served.predict_request(model.name, {"images": images})


@pytest.fixture(scope="module")
def by_rest(server, model, images):
    """Returns the outputs for `images` over REST."""
    response = server.post(f"{model.path}:predict", {"inputs": images.tolist()})
    return {name: np.array(value) for name, value in response.json["outputs"].items()}


def with_float_values(request, images, model):
    tensor = request.inputs["images"]
    assert tensor.tensor_content
    tensor.ClearField("tensor_content")
    tensor.float_val.extend(images.ravel().tolist())


def with_version(request, images, model):
    request.model_spec.version.value = model.version
    request.model_spec.signature_name = "serving_default"


def with_files(request, images, model):
    files = np.array([png_files.png(image) for image in images], object)
    request.CopyFrom(served.predict_request(model.name, {"image_bytes": files}, "serve_bytes"))


@pytest.mark.parametrize("change", [None, with_float_values, with_version, with_files])
def test_forms_of_the_request_are_accepted(send, valid, model, images, by_rest, change):
    if change:
        change(valid, images, model)
    response = send(valid)
    served.assert_equal(served.arrays(response), by_rest)
    spec = response.model_spec
    assert (spec.name, spec.version.value) == (model.name, model.version)
    assert spec.signature_name == (valid.model_spec.signature_name or "serving_default")


def test_logits_are_in_float_val_and_classes_in_int64_val(send, valid, by_rest):
    outputs = send(valid).outputs
    assert outputs["logits"].dtype == types_pb2.DT_FLOAT
    assert outputs["classes"].dtype == types_pb2.DT_INT64
    logits = np.reshape(outputs["logits"].float_val, by_rest["logits"].shape)
    np.testing.assert_allclose(logits, by_rest["logits"], 1e-5, 1e-5)
    assert list(outputs["classes"].int64_val) == by_rest["classes"].tolist()


@pytest.mark.parametrize("outputs", [("logits",), ("classes", "probabilities")], ids=" ".join)
def test_output_filter_selects_outputs(send, valid, by_rest, outputs):
    valid.output_filter.extend(outputs)
    served.assert_equal(served.arrays(send(valid)), {name: by_rest[name] for name in outputs})


def test_metadata_has_the_signatures(server, model):
    request = METADATA(metadata_field=["signature_def"])
    request.model_spec.name = model.name
    request.model_spec.version.value = model.version
    response = server.get_metadata(request, timeout=60)
    assert response.model_spec.name == model.name
    assert response.model_spec.version.value == model.version
    assert list(response.metadata) == ["signature_def"]
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    default = signatures.signature_def["serving_default"]
    assert default.method_name == "tensorflow/serving/predict"
    assert default.inputs["images"].dtype == types_pb2.DT_FLOAT
    assert default.inputs["images"].tensor_shape.dim[0].size == -1
    assert default.outputs["classes"].dtype == types_pb2.DT_INT64


@pytest.mark.parametrize("version", [False, True], ids=["all", "version"])
def test_status_is_available(server, model, version):
    request = STATUS()
    request.model_spec.name = model.name
    if version:
        request.model_spec.version.value = model.version
    rows = server.get_status(request, timeout=60).model_version_status
    (row,) = [row for row in rows if row.version == model.version]
    assert row.state == get_model_status_pb2.ModelVersionStatus.AVAILABLE
    assert (row.status.error_code, row.status.error_message) == (0, "")


def test_health_is_serving(server, needs_our_server):
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    check = health_pb2_grpc.HealthStub(server.channel).Check
    for service in ("", "tensorflow.serving.PredictionService"):
        request = health_pb2.HealthCheckRequest(service=service)
        serving = health_pb2.HealthCheckResponse.SERVING
        assert check(request, timeout=60).status == serving
