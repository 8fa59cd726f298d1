"""Metadata of a served model version, as protobuf messages and as JSON."""

from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from tensorflow_serving.apis import get_model_metadata_pb2

from elu_zoo.serving.servable import Servable
from elu_zoo.weights import provenance

FIELD = "signature_def"


def response(model: Servable) -> get_model_metadata_pb2.GetModelMetadataResponse:
    """Returns the response to gRPC's GetModelMetadata."""
    message = get_model_metadata_pb2.GetModelMetadataResponse()
    message.model_spec.name = model.name
    message.model_spec.version.value = model.version
    message.metadata[FIELD].Pack(_signatures(model))
    return message


def as_json(model: Servable) -> dict[str, Any]:
    """Returns the response to REST's /metadata."""
    return {
        "model_spec": {"name": model.name, "signature_name": "", "version": str(model.version)},
        "metadata": {FIELD: message_json(_signatures(model))},
    }


def message_json(message: Message) -> dict[str, Any]:
    """Returns a protobuf message as JSON, including fields with default values."""
    return json_format.MessageToDict(
        message, always_print_fields_with_no_presence=True, preserving_proto_field_name=True
    )


def describe(model: Servable) -> dict[str, Any]:
    """Returns the facts on the web page; None for facts that the export lacks."""
    origin = model.origin
    weights = provenance.weights(origin)
    fields = ("dataset", "activation", "alpha", "input_shape")
    return {
        "name": model.name,
        "version": model.version,
        "signatures": sorted(model.signatures),
        "class_names": list(model.class_names),
        "network": origin.get("model"),
        **{field: origin.get(field) for field in fields},
        **{field: weights.get(field) for field in ("tag", "sha256")},
    }


def _signatures(model: Servable) -> get_model_metadata_pb2.SignatureDefMap:
    return get_model_metadata_pb2.SignatureDefMap(signature_def=model.definitions)
