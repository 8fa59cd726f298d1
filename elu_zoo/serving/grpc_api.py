"""Handlers of gRPC calls to the services that TensorFlow Serving defines."""

import concurrent.futures
import functools
import logging
import threading
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest

from elu_zoo import errors
from elu_zoo.serving import metadata, tensors
from elu_zoo.serving.batching import Batcher
from elu_zoo.serving.metrics import Metrics
from elu_zoo.serving.repository import Repository
from elu_zoo.serving.signature import Arrays
from elu_zoo.serving.status_errors import StatusError, invalid_argument, shorten, unavailable

_MAX_MESSAGE = 1000  # characters, because gRPC replaces large errors

_Method = Callable[[Any, grpc.ServicerContext], Message]


class GrpcApi(grpc.GenericRpcHandler):
    """PredictionService and ModelService for the models of a repository.

    gRPC responds with UNIMPLEMENTED to all methods that this class does not define.

    Attributes:
        draining: whether the server is stopping and rejects new calls.
        running: number of unfinished calls.
    """

    def __init__(self, repository: Repository, metrics: Metrics):
        self._repository = repository
        self._metrics = metrics
        self._lock = threading.Lock()
        self.draining = False
        self.running = 0
        prediction, models = (f"/tensorflow.serving.{x}Service" for x in ("Prediction", "Model"))
        self._methods = {
            f"{prediction}/Predict": (predict_pb2.PredictRequest, self._predict),
            f"{prediction}/GetModelMetadata": (GetModelMetadataRequest, self._get_metadata),
            f"{models}/GetModelStatus": (GetModelStatusRequest, self._get_status),
        }

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler | None:
        """Returns the handler of a call that arrives, before the call gets a thread."""
        if handler_call_details.method not in self._methods:
            return None
        message, method = self._methods[handler_call_details.method]
        # `_handle` parses, because gRPC reports errors of a deserializer as INTERNAL.
        return grpc.unary_unary_rpc_method_handler(
            functools.partial(self._handle, message, _stopping if self.draining else method),
            response_serializer=lambda response: response.SerializeToString(),
        )

    def _handle(
        self, message: type[Message], method: _Method, content: bytes, context: grpc.ServicerContext
    ) -> Message:
        with self._lock:
            self.running += 1
        try:
            return method(message.FromString(content), context)
        except DecodeError:
            error = invalid_argument(f"The request is not a {message.__name__}")
        except StatusError as caught:
            error = caught
        except Exception as caught:
            logging.getLogger(__name__).exception("%s", message.__name__)
            error = StatusError(grpc.StatusCode.INTERNAL, f"{type(caught).__name__} in the server")
        finally:
            with self._lock:
                self.running -= 1
        error.__traceback__ = None  # a cycle with this frame, which holds the request
        context.abort(error.code, errors.printable(error.message, _MAX_MESSAGE))

    def _predict(self, request: Message, context: grpc.ServicerContext) -> Message:
        model = self._repository.find(request.model_spec)
        with self._metrics.request(model.name, "GRPC"):
            signature = model.signature(request.model_spec.signature_name)
            selected = list(request.output_filter) or list(signature.outputs)
            for name in selected:
                if name not in signature.outputs or selected.count(name) > 1:
                    known = ", ".join(signature.outputs)
                    raise invalid_argument(
                        f"output_filter must have names of {known}, each once, got {shorten(name)}"
                    )
            arrays = tensors.read(request.inputs, signature)
            outputs = _wait(model.batchers[signature.name], arrays, context)
            response = predict_pb2.PredictResponse()
            response.model_spec.name = model.name
            response.model_spec.version.value = model.version
            response.model_spec.signature_name = signature.name
            for name in selected:
                tensors.write(outputs[name], signature.outputs[name], response.outputs[name])
            return response

    def _get_metadata(self, request: Message, context: grpc.ServicerContext) -> Message:
        if set(request.metadata_field) != {metadata.FIELD}:
            raise invalid_argument(f"metadata_field must be {metadata.FIELD}")
        return metadata.response(self._repository.find(request.model_spec))

    def _get_status(self, request: Message, context: grpc.ServicerContext) -> Message:
        if not request.HasField("model_spec"):
            raise invalid_argument("The request has no model_spec")
        return self._repository.status(request.model_spec)


def _stopping(request: Message, context: grpc.ServicerContext) -> Message:
    raise unavailable("The server is stopping")


def _wait(batcher: Batcher, arrays: Arrays, context: grpc.ServicerContext) -> Arrays:
    """Queues a request and waits for the outputs."""
    late = StatusError(grpc.StatusCode.DEADLINE_EXCEEDED, "The deadline has passed")
    # Without a deadline, time_remaining() is above the longest timeout of a thread.
    seconds = min(context.time_remaining(), threading.TIMEOUT_MAX)
    if seconds <= 0:
        raise late
    future = batcher.submit(arrays)
    # add_callback returns False if the call has already ended.
    if not context.add_callback(future.cancel):
        future.cancel()
    try:
        return future.result(seconds)
    except TimeoutError:
        future.cancel()
        raise late from None
    except concurrent.futures.CancelledError:
        raise StatusError(grpc.StatusCode.CANCELLED, "The call was cancelled") from None
