"""How a request is refused: a code of gRPC, the same as an HTTP status, and a text."""

from collections.abc import Sequence

import grpc

from elu_zoo import errors

# As TensorFlow Serving maps them.
_HTTP = {
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
_BY_NUMBER = {code.value[0]: code for code in grpc.StatusCode}


class Refusal(errors.EluZooError):
    """What a client is told instead of an answer.

    Attributes:
        code: of gRPC.
        message: in TensorFlow Serving's words where it has some for the case.
        available: names that would have been found, for a client to show.
        http_status: over REST.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        available: Sequence[str] = (),
        http_status: int | None = None,
    ):
        """Args:
        code: see above, as the others.
        message: see above.
        available: see above.
        http_status: if another than that of `code`.
        """
        super().__init__(message)
        self.code = code
        self.message = message
        self.available = tuple(available)
        self.http_status = http_status or _HTTP.get(code, 500)


def invalid(message: str, available: Sequence[str] = ()) -> Refusal:
    """Returns the refusal of a request that is wrong whatever the server's state."""
    return Refusal(grpc.StatusCode.INVALID_ARGUMENT, message, available)


def too_many(size: int, most: int) -> Refusal:
    """Returns the refusal of a request with too many examples."""
    return invalid(f"Task size {size} is larger than maximum input batch size {most}")


def by_number(number: int, message: str) -> Refusal:
    """Returns the refusal with a code that TensorFlow's errors give as a number."""
    return Refusal(_BY_NUMBER.get(number, grpc.StatusCode.UNKNOWN), message)


def clipped(value: object, length: int = 100) -> str:
    """Returns the text of a request's `value`, short enough to be sent back."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= length else f"{text[:length]}..."
