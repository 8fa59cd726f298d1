"""TensorFlow Serving's gRPC services, of its own messages."""

import concurrent.futures
import logging
import threading
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    predict_pb2,
    regression_pb2,
)

from elu_zoo.serving import metadata, refusals, tensors
from elu_zoo.serving.batching import Batcher
from elu_zoo.serving.metrics import Metrics
from elu_zoo.serving.refusals import Refusal
from elu_zoo.serving.repository import Repository
from elu_zoo.serving.signature import Arrays

AVAILABLE = "elu-zoo-available"  # trailing metadata of a refusal
_MOST_NAMES = 20
_LONGEST = 500  # characters of a message, which each may take 12 bytes

_Method = Callable[[Any, grpc.ServicerContext], Message]


class GrpcSurface(grpc.GenericRpcHandler):
    """PredictionService and ModelService on a repository's models.

    Attributes:
        draining: refuse what comes from now on, as the server is stopping.
        running: calls that are being answered.
    """

    def __init__(self, repository: Repository, metrics: Metrics):
        self._repository = repository
        self._metrics = metrics
        self._lock = threading.Lock()
        self.draining = False
        self.running = 0
        prediction = {
            "Predict": (predict_pb2.PredictRequest, self._predict),
            "GetModelMetadata": (
                get_model_metadata_pb2.GetModelMetadataRequest,
                self._get_model_metadata,
            ),
            "Classify": (classification_pb2.ClassificationRequest, _unimplemented),
            "Regress": (regression_pb2.RegressionRequest, _unimplemented),
            "MultiInference": (inference_pb2.MultiInferenceRequest, _unimplemented),
        }
        model = {
            "GetModelStatus": (
                get_model_status_pb2.GetModelStatusRequest,
                self._get_model_status,
            ),
            "HandleReloadConfigRequest": (
                model_management_pb2.ReloadConfigRequest,
                _unimplemented,
            ),
        }
        self._methods = {
            f"/tensorflow.serving.{service}/{name}": self._handler(*method)
            for service, methods in (
                ("PredictionService", prediction),
                ("ModelService", model),
            )
            for name, method in methods.items()
        }
        self._stopping = self._handler(predict_pb2.PredictRequest, _stopping)

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler | None:
        """Returns what answers a call that arrives; it may wait before it is run."""
        found = self._methods.get(handler_call_details.method)
        return self._stopping if found and self.draining else found

    def _handler(
        self, message: type[Message], method: _Method
    ) -> grpc.RpcMethodHandler:
        def handle(content, context):
            with self._lock:
                self.running += 1
            try:
                return method(_parsed(content, message), context)
            except Refusal as error:
                refusal = error
            except Exception as error:
                logging.getLogger(__name__).exception("%s", message.__name__)
                refusal = Refusal(
                    grpc.StatusCode.INTERNAL, f"{type(error).__name__} in the server"
                )
            finally:
                with self._lock:
                    self.running -= 1
            # A client is told of a transport's failure if these grow too large.
            context.set_trailing_metadata(
                [
                    (AVAILABLE, name)
                    for name in refusal.available[:_MOST_NAMES]
                    if name.isascii()
                ]
            )
            context.abort(refusal.code, refusals.clipped(refusal.message, _LONGEST))

        # No request_deserializer: gRPC tells a client that what one refuses is
        # INTERNAL.
        return grpc.unary_unary_rpc_method_handler(
            handle, response_serializer=lambda response: response.SerializeToString()
        )

    def _predict(
        self, request: predict_pb2.PredictRequest, context: grpc.ServicerContext
    ) -> predict_pb2.PredictResponse:
        found = self._repository.find(request.model_spec)
        with self._metrics.request(found.name, "GRPC"):
            signature = found.signature(request.model_spec.signature_name)
            wanted = list(request.output_filter) or list(signature.outputs)
            for name in wanted:
                if name not in signature.outputs:
                    raise refusals.invalid(
                        "output tensor alias not found in signature: "
                        f"{refusals.clipped(name)} Outputs expected to be in the set "
                        f"{{{','.join(signature.outputs)}}}."
                    )
                if wanted.count(name) > 1:
                    raise refusals.invalid(f"duplicate output tensor alias: {name}")
            arrays = tensors.read(request.inputs, signature)
            outputs = _waited(found.batchers[signature.name], arrays, context)
            response = predict_pb2.PredictResponse()
            metadata.fill(response.model_spec, found)
            response.model_spec.signature_name = signature.name
            for name in wanted:
                tensor = signature.outputs[name]
                tensors.write(outputs[name], tensor, response.outputs[name])
            return response

    def _get_model_metadata(
        self,
        request: get_model_metadata_pb2.GetModelMetadataRequest,
        context: grpc.ServicerContext,
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        _check_spec(request)
        if not request.metadata_field:
            raise refusals.invalid(
                "GetModelMetadataRequest must specify at least one metadata_field"
            )
        for field in request.metadata_field:
            if field != metadata.FIELD:
                raise refusals.invalid(
                    f"Metadata field {refusals.clipped(field)} is not supported"
                )
        return metadata.response(self._repository.find(request.model_spec))

    def _get_model_status(
        self,
        request: get_model_status_pb2.GetModelStatusRequest,
        context: grpc.ServicerContext,
    ) -> get_model_status_pb2.GetModelStatusResponse:
        _check_spec(request)
        return self._repository.status(request.model_spec)


def _check_spec(request: Message) -> None:
    if not request.HasField("model_spec"):
        raise refusals.invalid("Missing ModelSpec")


def _unimplemented(request: Message, context: grpc.ServicerContext) -> Message:
    raise Refusal(
        grpc.StatusCode.UNIMPLEMENTED,
        f"This server has no method for a {type(request).__name__}: it predicts. "
        "TensorFlow Serving takes the same folder of models.",
    )


def _stopping(request: Message, context: grpc.ServicerContext) -> Message:
    raise Refusal(grpc.StatusCode.UNAVAILABLE, "The server is stopping")


def _waited(batcher: Batcher, arrays: Arrays, context: grpc.ServicerContext) -> Arrays:
    """Returns an answer as soon as it is there, while somebody waits for it.

    Raises:
        Refusal: the request was refused, its deadline has passed, or its client left.
    """
    # Of a call without a deadline it is more than a thread can wait.
    seconds = min(context.time_remaining(), threading.TIMEOUT_MAX)
    if seconds <= 0:
        raise _late()
    answer = batcher.submit(arrays)
    if not context.add_callback(answer.cancel):
        answer.cancel()
    try:
        return answer.result(seconds)
    except TimeoutError:
        answer.cancel()
        raise _late() from None
    except concurrent.futures.CancelledError:
        raise Refusal(grpc.StatusCode.CANCELLED, "The client left") from None


def _late() -> Refusal:
    return Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, "The deadline has passed")


def _parsed(content: bytes, message: type[Message]) -> Message:
    try:
        return message.FromString(content)
    except DecodeError:
        raise refusals.invalid(f"The bytes are no {message.__name__}") from None
