"""StatusError has TensorFlow Serving's HTTP status for each gRPC code."""

import grpc

from elu_zoo.serving.status_errors import StatusError

# HTTP status: gRPC codes, as in TensorFlow Serving's model_servers/http_server.cc.
HTTP = {
    **{400: "INVALID_ARGUMENT FAILED_PRECONDITION OUT_OF_RANGE", 504: "DEADLINE_EXCEEDED"},
    **{401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"},
    **{409: "ALREADY_EXISTS ABORTED", 429: "RESOURCE_EXHAUSTED", 499: "CANCELLED"},
    **{500: "UNKNOWN INTERNAL DATA_LOSS", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE"},
}


def test_http_status_of_each_grpc_code():
    codes = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]
    expected = {name: status for status, names in HTTP.items() for name in names.split()}
    assert {code.name: StatusError(code, "").http_status for code in codes} == expected
    assert StatusError(grpc.StatusCode.INTERNAL, "", http_status=413).http_status == 413
