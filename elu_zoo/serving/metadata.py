"""What the server says of its models, as messages and as JSON."""

from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from tensorflow_serving.apis import get_model_metadata_pb2, model_pb2

from elu_zoo.serving.servable import Servable
from elu_zoo.weights import provenance

FIELD = "signature_def"


def fill(spec: model_pb2.ModelSpec, found: Servable) -> None:
    """Writes which model and version answers into `spec`."""
    spec.name = found.name
    spec.version.value = found.version


def response(found: Servable) -> get_model_metadata_pb2.GetModelMetadataResponse:
    """Returns a version's signatures, as TensorFlow Serving does."""
    answer = get_model_metadata_pb2.GetModelMetadataResponse()
    fill(answer.model_spec, found)
    answer.metadata[FIELD].Pack(_signatures(found))
    return answer


def as_json(found: Servable) -> dict[str, Any]:
    """Returns the same as TensorFlow Serving's REST surface shows it."""
    return {
        "model_spec": {
            "name": found.name,
            "signature_name": "",
            "version": str(found.version),
        },
        "metadata": {FIELD: message_json(_signatures(found))},
    }


def message_json(message: Message) -> dict[str, Any]:
    """Returns a message as JSON, with the fields that have their default values."""
    return json_format.MessageToDict(
        message,
        always_print_fields_with_no_presence=True,
        preserving_proto_field_name=True,
    )


def described(found: Servable) -> dict[str, Any]:
    """Returns what a person is shown of a model, for the page.

    What the model's export does not say, as that of another program, is None.
    """
    origin = found.origin
    weights = provenance.weights(origin)
    fields = ("dataset", "activation", "alpha", "input_shape")
    return {
        "name": found.name,
        "version": found.version,
        "signatures": sorted(found.signatures),
        "class_names": list(found.class_names),
        "network": origin.get("model"),
        **{field: origin.get(field) for field in fields},
        **{field: weights.get(field) for field in ("tag", "sha256")},
    }


def _signatures(found: Servable) -> get_model_metadata_pb2.SignatureDefMap:
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for name, definition in found.definitions.items():
        signatures.signature_def[name].CopyFrom(definition)
    return signatures
