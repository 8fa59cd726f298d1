"""StatusError has TensorFlow Serving's HTTP status for each gRPC code."""

import grpc

from elu_zoo.serving.status_errors import StatusError, shorten

# gRPC code: HTTP status, as in TensorFlow Serving's model_servers/http_server.cc.
HTTP = {
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "UNAUTHENTICATED": 401,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DATA_LOSS": 500,
}


def test_http_status_of_each_grpc_code():
    codes = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]
    assert {code.name: StatusError(code, "").http_status for code in codes} == HTTP
    assert StatusError(grpc.StatusCode.INTERNAL, "", http_status=413).http_status == 413


def test_shorten_cuts_long_text():
    assert shorten("abc", 3) == "abc"
    assert shorten("é" * 101) == "é" * 100 + "..."
