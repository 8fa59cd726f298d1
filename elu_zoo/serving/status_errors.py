"""Errors that clients receive, with a gRPC status code and an HTTP status."""

import functools
from collections.abc import Sequence

import grpc

from elu_zoo import errors

# Returns the start of a client's text, for a message.
shorten = functools.partial(errors.printable, length=100)
_MAX_NAMES = 20
# TensorFlow Serving's mapping. All other codes become HTTP status 500.
_HTTP_STATUS = {
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}


class StatusError(errors.EluZooError):
    """The reason why a request is rejected or failed.

    Attributes:
        http_status: HTTP status, by default the status that belongs to `code`.
    """

    def __init__(self, code: grpc.StatusCode, message: str, http_status: int | None = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.http_status = http_status or _HTTP_STATUS.get(code, 500)


def invalid_argument(message: str) -> StatusError:
    """Returns an error for a request that is invalid in every state of the server."""
    return StatusError(grpc.StatusCode.INVALID_ARGUMENT, message)


def unknown_name(code: grpc.StatusCode, message: str, names: Sequence[str]) -> StatusError:
    """Returns an error that lists the names that the request could have used."""
    known = f" Available: {', '.join(names[:_MAX_NAMES])}." if names else ""
    return StatusError(code, message + known)


def unavailable(message: str) -> StatusError:
    """Returns an error for a request that may succeed later."""
    return StatusError(grpc.StatusCode.UNAVAILABLE, message)


def too_many_examples(size: int, most: int) -> StatusError:
    return invalid_argument(f"Task size {size} is larger than maximum input batch size {most}")
