"""Wrong gRPC requests fail with the codes of TensorFlow Serving."""

import copy

import grpc
import numpy as np
import pytest

served = pytest.importorskip("served")

import tensorflow as tf  # noqa: E402
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2  # noqa: E402

Code = grpc.StatusCode


@pytest.fixture
def valid(model, images):
    """Returns a valid request, which the tests make invalid."""
    return served.predict_request(model.name, {"images": images})


def code_of(call, request):
    """Returns the status code of the error that a call raises."""
    with pytest.raises(grpc.RpcError) as caught:
        call(request, timeout=60)
    assert caught.value.details()
    return caught.value.code()


def spec(**fields):
    """Returns a function that changes the request's ModelSpec."""

    def change(request):
        for name, value in fields.items():
            if name == "version":
                request.model_spec.version.value = value
            else:
                setattr(request.model_spec, name, value)

    return change


def other_tensor(*shape, dtype="float32"):
    def change(request):
        tensor = tf.make_tensor_proto(np.zeros(shape, dtype))
        request.inputs["images"].CopyFrom(tensor)

    return change


def resize(*first, last=()):
    """Returns a function that replaces the images by zeros of another shape."""

    def change(request):
        shape = [dim.size for dim in request.inputs["images"].tensor_shape.dim]
        shape = [*first, *shape[len(first) : len(shape) - len(last)], *last]
        other_tensor(*shape)(request)

    return change


def extra_input(request):
    request.inputs["pixels"].CopyFrom(request.inputs["images"])


def image_file(request):
    files = {"image_bytes": np.array([b"not an image"], object)}
    name = request.model_spec.name
    request.CopyFrom(served.predict_request(name, files, "serve_bytes"))


def output(*names):
    return lambda request: request.output_filter.extend(names)


INVALID, NOT_FOUND = Code.INVALID_ARGUMENT, Code.NOT_FOUND
# case: (function that changes a valid request, gRPC code).
BAD_REQUESTS = {
    "unknown model": (spec(name="nope"), NOT_FOUND),
    "unknown version": (spec(version=7777), NOT_FOUND),
    "unknown label": (spec(version_label="nope"), INVALID),
    "no name": (spec(name=""), INVALID),
    "unknown signature": (spec(signature_name="nope"), Code.FAILED_PRECONDITION),
    "no inputs": (lambda request: request.inputs.clear(), INVALID),
    "extra input": (extra_input, INVALID),
    "unknown output": (output("nope"), INVALID),
    "an output twice": (output("logits", "logits"), INVALID),
    "not an image": (image_file, INVALID),
    "double": (other_tensor(1, 2, dtype="float64"), INVALID),
    "scalar": (other_tensor(), INVALID),
    "empty batch": (resize(0), INVALID),
    "other size": (resize(1, 3), INVALID),
    "other channels": (resize(1, last=(5,)), INVALID),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_bad_request_is_rejected(server, valid, case):
    change, code = BAD_REQUESTS[case]
    change(valid)
    assert code_of(server.predict, valid) == code


METADATA = get_model_metadata_pb2.GetModelMetadataRequest
CALLS = {
    "get_status": get_model_status_pb2.GetModelStatusRequest(),
    "get_metadata": METADATA(metadata_field=["signature_def"]),
}


@pytest.mark.parametrize("fields", [(), ("nope",)])
def test_bad_metadata_fields_are_rejected(server, model, fields):
    request = METADATA(metadata_field=fields)
    request.model_spec.name = model.name
    assert code_of(server.get_metadata, request) == INVALID


@pytest.mark.parametrize("call", CALLS)
def test_unknown_models_are_rejected(server, model, call):
    request = copy.deepcopy(CALLS[call])
    assert code_of(getattr(server, call), request) == INVALID
    for fields in {"name": "nope"}, {"name": model.name, "version": 7777}:
        spec(**fields)(request)
        assert code_of(getattr(server, call), request) == NOT_FOUND


@pytest.mark.parametrize("method", ["PredictionService/Classify", "ModelService/Nope", "Nope/A"])
def test_unsupported_methods_are_unimplemented(server, needs_our_server, method):
    call = server.channel.unary_unary(f"/tensorflow.serving.{method}", bytes, bytes)
    assert code_of(call, b"") == Code.UNIMPLEMENTED
