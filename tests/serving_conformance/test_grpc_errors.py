"""Wrong gRPC requests fail with the codes and messages of TensorFlow Serving."""

import copy

import grpc
import numpy as np
import pytest

served = pytest.importorskip("served")

import tensorflow as tf  # noqa: E402
from tensorflow_serving.apis import (  # noqa: E402
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    regression_pb2,
)

Code = grpc.StatusCode
METADATA = get_model_metadata_pb2.GetModelMetadataRequest
STATUS = get_model_status_pb2.GetModelStatusRequest


@pytest.fixture
def valid(model, images):
    """Returns a valid request, which the tests make invalid."""
    return served.predict_request(model.name, {"images": images})


def error_of(call, *arguments, **keywords):
    """Returns the status code and the details of the error that a call raises."""
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, timeout=60, **keywords)
    return caught.value.code(), caught.value.details()


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


def no_inputs(request):
    request.inputs.clear()


def other_input(request):
    request.inputs["pixels"].CopyFrom(request.inputs["images"])
    del request.inputs["images"]


def extra_input(request):
    request.inputs["pixels"].CopyFrom(request.inputs["images"])


def output(*names):
    return lambda request: request.output_filter.extend(names)


INVALID, NOT_FOUND = Code.INVALID_ARGUMENT, Code.NOT_FOUND
SIZES = "input size does not match signature: "
NOT_SERVED = "Servable not found for request: "
# case: (function that changes a valid request, gRPC code, text in the message).
BAD_REQUESTS = {
    "unknown model": (spec(name="nope"), NOT_FOUND, f"{NOT_SERVED}Latest(nope)"),
    "unknown version": (
        spec(version=7777),
        NOT_FOUND,
        f"{NOT_SERVED}Specific({{name}}, 7777)",
    ),
    "unknown label": (
        spec(version_label="nope"),
        INVALID,
        "Unrecognized servable version label",
    ),
    "no name": (spec(name=""), INVALID, ""),
    "unknown signature": (
        spec(signature_name="nope"),
        Code.FAILED_PRECONDITION,
        'Serving signature key "nope" not found.',
    ),
    "no inputs": (no_inputs, INVALID, f"{SIZES}0!=1"),
    "extra input": (extra_input, INVALID, "Sent extra: {{pixels}}"),
    "other input": (other_input, INVALID, "Signature input alias: images(feed name: "),
    "unknown output": (
        output("nope"),
        INVALID,
        "output tensor alias not found in signature: nope",
    ),
    "an output twice": (
        output("logits", "logits"),
        INVALID,
        "duplicate output tensor alias: logits",
    ),
    "double": (other_tensor(1, 2, dtype="float64"), INVALID, ""),
    "scalar": (other_tensor(), INVALID, ""),
    "rank 2": (other_tensor(1, 2), INVALID, ""),
    "empty batch": (resize(0), INVALID, ""),
    "other size": (resize(1, 3), INVALID, ""),
    "other channels": (resize(1, last=(5,)), INVALID, ""),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_bad_request_is_rejected(server, valid, model, case):
    change, code, text = BAD_REQUESTS[case]
    change(valid)
    actual = error_of(server.predict, valid)
    assert actual[0] == code and text.format(name=model.name) in actual[1]


def test_batch_over_the_maximum_is_rejected(server, model, models_folder):
    request = served.predict_request(model.name, {"images": model.images(65)})
    code, text = error_of(server.predict, request)
    assert code == INVALID and "larger than maximum input batch size 64" in text


def test_errors_list_available_names(server, valid, model, needs_our_server):
    valid.model_spec.name = "nope"
    with pytest.raises(grpc.RpcError) as caught:
        server.predict(valid, timeout=60)
    assert ("elu-zoo-available", model.name) in caught.value.trailing_metadata()


BAD_METADATA = {
    "no field": (METADATA(), INVALID, "at least one metadata_field"),
    "a wrong field": (METADATA(metadata_field=["nope"]), INVALID, "is not supported"),
}


@pytest.mark.parametrize("case", BAD_METADATA)
def test_bad_metadata_fields_are_rejected(server, model, case):
    request, code, text = BAD_METADATA[case]
    request.model_spec.name = model.name
    actual = error_of(server.get_metadata, request)
    assert actual[0] == code and text in actual[1]


# case: (fields of the ModelSpec, gRPC code, text in the message).
MODELS = {
    "no spec": ({}, INVALID, "Missing ModelSpec"),
    "unknown model": ({"name": "nope"}, NOT_FOUND, "nope"),
    "unknown version": ({"version": 7777}, NOT_FOUND, "7777"),
}
CALLS = {
    "get_status": STATUS(),
    "get_metadata": METADATA(metadata_field=["signature_def"]),
}


@pytest.mark.parametrize("case", MODELS)
@pytest.mark.parametrize("call", CALLS)
def test_unknown_models_are_rejected(server, model, call, case):
    fields, code, text = MODELS[case]
    request = copy.deepcopy(CALLS[call])
    if fields:
        request.model_spec.name = model.name
        spec(**fields)(request)
    actual = error_of(getattr(server, call), request)
    assert actual[0] == code and text in actual[1]


# TensorFlow Serving's GetModelStatus ignores labels.
@pytest.mark.parametrize("call", CALLS)
def test_unknown_label_is_rejected(server, model, needs_our_server, call):
    request = copy.deepcopy(CALLS[call])
    spec(name=model.name, version_label="nope")(request)
    code, text = error_of(getattr(server, call), request)
    assert code == INVALID and "Unrecognized servable version label" in text


UNIMPLEMENTED = {
    "Classify": ("prediction", classification_pb2.ClassificationRequest()),
    "Regress": ("prediction", regression_pb2.RegressionRequest()),
    "MultiInference": ("prediction", inference_pb2.MultiInferenceRequest()),
    "HandleReloadConfigRequest": ("model", model_management_pb2.ReloadConfigRequest()),
}


@pytest.mark.parametrize("method", UNIMPLEMENTED)
def test_unsupported_methods_are_unimplemented(server, needs_our_server, method):
    stub, request = UNIMPLEMENTED[method]
    code, _ = error_of(getattr(server.stubs[stub], method), request)
    assert code == Code.UNIMPLEMENTED


def test_unknown_method_is_unimplemented(server):
    call = server.channel.unary_unary("/tensorflow.serving.Nope/Predict", bytes, bytes)
    assert error_of(call, b"")[0] == Code.UNIMPLEMENTED


def test_bytes_that_are_not_a_message_are_rejected(server, needs_our_server):
    assert error_of(server.predict_raw, b"\xff" * 9)[0] == INVALID
