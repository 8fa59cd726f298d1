import grpc
import pytest

from elu_zoo import errors
from elu_zoo.serving import refusals
from elu_zoo.serving.refusals import Refusal

# By TensorFlow Serving, model_servers/http_server.cc.
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


@pytest.mark.parametrize(("code", "status"), HTTP.items())
def test_http_status(code, status):
    assert Refusal(grpc.StatusCode[code], "text").http_status == status


def test_every_code_of_an_error_has_a_status():
    assert set(HTTP) | {"OK"} == set(grpc.StatusCode.__members__)


@pytest.mark.parametrize("code", grpc.StatusCode, ids=lambda code: code.name)
def test_by_number(code):
    found = refusals.by_number(code.value[0], "text")
    assert (found.code, found.message) == (code, "text")


@pytest.mark.parametrize("number", [-1, 17, 1000])
def test_by_a_number_without_a_code(number):
    assert refusals.by_number(number, "text").code is grpc.StatusCode.UNKNOWN


def test_invalid():
    found = refusals.invalid("text", ["a", "b"])
    assert isinstance(found, errors.EluZooError) and str(found) == "text"
    assert found.code is grpc.StatusCode.INVALID_ARGUMENT
    assert (found.message, found.available) == ("text", ("a", "b"))
    assert refusals.invalid("text").available == ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", ""),
        ("a" * 100, "a" * 100),
        ("a" * 101, "a" * 100 + "..."),
        ("é" * 101, "é" * 100 + "..."),
        (7, "7"),
        (["a"], "['a']"),
        (b"\xff" * 60, "b'" + r"\xff" * 24 + r"\x..."),
    ],
)
def test_clipped(value, expected):
    assert refusals.clipped(value) == expected


def test_clipped_to_a_length():
    assert refusals.clipped("abcd", 3) == "abc..."
