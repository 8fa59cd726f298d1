"""Loading of a model version from a SavedModel."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import grpc
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2
from tensorflow_serving.apis import prediction_log_pb2

from elu_zoo import errors, files
from elu_zoo.serving import tensors
from elu_zoo.serving.batching import Batcher
from elu_zoo.serving.signature import Signature
from elu_zoo.serving.status_errors import shorten, unknown_name

DEFAULT_SIGNATURE = "serving_default"
FILE = "saved_model.pb"
_LABELS = "assets/labels.txt"
_WARM_UP = "assets.extra/tf_serving_warmup_requests"
_ORIGIN = "assets.extra/elu_zoo.json"
_MAX_WARM_UP_REQUESTS = 1000  # TensorFlow Serving's limit


@dataclasses.dataclass(frozen=True, eq=False)
class Servable:
    """A loaded version of a model.

    Attributes:
        definitions: signature definitions of the SavedModel, for the metadata.
        origin: content of the SavedModel's elu_zoo.json, empty without this file.
    """

    name: str
    version: int
    definitions: Mapping[str, meta_graph_pb2.SignatureDef]
    signatures: Mapping[str, Signature]
    batchers: Mapping[str, Batcher]
    class_names: tuple[str, ...]
    origin: Mapping[str, Any]
    # The signatures do not keep the variables alive, but this object does.
    _saved: Any = dataclasses.field(repr=False)

    def signature(self, name: str) -> Signature:
        """Returns the signature with a name; `serving_default` if `name` is empty."""
        name = name or DEFAULT_SIGNATURE
        if name not in self.signatures:
            message = f'Serving signature key "{shorten(name)}" not found.'
            code = grpc.StatusCode.FAILED_PRECONDITION
            raise unknown_name(code, message, sorted(self.signatures))
        return self.signatures[name]


def load(
    name: str, version: int, path: Path, batcher: Callable[[str, Signature], Batcher]
) -> Servable:
    """Loads the version in a folder and runs its warm-up requests."""
    try:
        definitions = _definitions(path / FILE)
        saved = tf.saved_model.load(str(path))
        signatures = {
            key: Signature(key, definitions[key], function)
            for key, function in saved.signatures.items()
        }
        _warm_up(path / _WARM_UP, signatures)
        labels, origin_file = path / _LABELS, path / _ORIGIN
        text = files.read(labels).decode("utf-8-sig") if labels.exists() else ""
        origin = files.read_json(origin_file) if origin_file.exists() else {}
    # For damaged files, TensorFlow raises errors of many types.
    except Exception as error:
        text = error.message if isinstance(error, tf.errors.OpError) else str(error)
        raise errors.CorruptError(
            f"{path} cannot be served: {errors.graph_reason(text) or repr(error)}"
        ) from error
    batchers = {key: batcher(name, signature) for key, signature in signatures.items()}
    class_names = tuple(text.splitlines())
    return Servable(name, version, definitions, signatures, batchers, class_names, origin, saved)


def _definitions(file: Path) -> dict[str, meta_graph_pb2.SignatureDef]:
    saved = saved_model_pb2.SavedModel.FromString(files.read(file))
    for graph in saved.meta_graphs:
        if "serve" in graph.meta_info_def.tags:
            return dict(graph.signature_def)
    raise errors.CorruptError(f"{file.name} has no graph with the tag 'serve'.")


def _warm_up(file: Path, signatures: Mapping[str, Signature]) -> None:
    if not file.exists():
        return
    records = tf.data.TFRecordDataset(str(file)).as_numpy_iterator()
    for record in itertools.islice(records, _MAX_WARM_UP_REQUESTS):
        log = prediction_log_pb2.PredictionLog.FromString(record)
        request = log.predict_log.request
        name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        signature = signatures.get(name)
        if log.HasField("predict_log") and signature is not None:
            signature.run([tensors.read(request.inputs, signature)])
